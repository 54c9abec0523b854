//go:build !amd64 || noasm

package sample

func next(row []float32, i int, low float32) int { return nextGeneric(row, i, low) }
