#!/bin/sh
# The whole recipe: HOTPATH_DATA=... sh build.sh RUN_FOLDER [SECONDS]
# Goes on where it stopped when it is run again. SECONDS is the process time of each of two processes.
set -e
cd "$(dirname "$0")"
run=$1
budget=${2:-7200}
mkdir -p "$run"
[ -f vocab.json ] || python3 vocab.py vocab.json
# First stage: without the development intents, constant learning rate.
[ -f "$run/stage1.pt" ] || {
    echo '{"stage": 1}' > "$run/control.json"
    python3 train.py "$run" --budget "$budget" --decay .999 --stop .65
    cp "$run/checkpoint.pt" "$run/stage1.pt"
}
[ -f "$run/unseen.json" ] || python3 evaluate.py "$run/stage1.pt" --fit "$run/unseen.json" --sets new
# Second stage: all training intents, falling learning rate.
echo '{"stage": 2}' > "$run/control.json"
python3 train.py "$run" --budget "$budget" --decay .65
python3 evaluate.py "$run/checkpoint.pt" --fit "$run/decision.json" --unseen "$run/unseen.json.rows"
python3 export.py "$run/checkpoint.pt" ../hotpath-mini.gguf --decision "$run/decision.json" --hf "$run/hf"
python3 evaluate.py "$run/checkpoint.pt" --decision "$run/decision.json" --reference reference.json --scores "$run/scores.json"
python3 plot.py "$run/log.jsonl" loss.png
python3 record.py "$run" ../hotpath-mini.gguf record.json
