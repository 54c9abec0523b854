#!/bin/sh
# The whole recipe: HOTPATH_DATA=... sh build.sh RUN_FOLDER [SECONDS]
# Goes on where it stopped when it is run again. SECONDS is the process time of each of two processes.
# PYTHON names an interpreter that has torch, where python3 is another one.
set -e
cd "$(dirname "$0")"
run=$1
budget=${2:-7200}
python=${PYTHON:-python3}
out=${OUT:-..} # where the weights, and record.json, reference.json and loss.png in a folder train, go
mkdir -p "$run" "$out/train"
[ -f vocab.json ] || $python vocab.py vocab.json
$python leaks.py
$python step.py
$python train.py "$run" --budget "$budget"
$python evaluate.py "$run/checkpoint.pt" --fit "$run/decision.json"
$python export.py "$run/checkpoint.pt" "$out/hotpath-mini.gguf" --decision "$run/decision.json" --hf "$run/hf"
$python evaluate.py "$run/checkpoint.pt" --decision "$run/decision.json" --reference "$out/train/reference.json" --scores "$run/scores.json"
$python plot.py "$run/log.jsonl" "$out/train/loss.png"
$python record.py "$run" "$out/hotpath-mini.gguf" "$out/train/record.json"
