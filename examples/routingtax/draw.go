package main

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// draw draws the ways side by side: the time until the answer, and from there until the first token of
// the real call.
func draw(path string, costs []cost) error {
	p := plot.New()
	p.Title.Text = "One routing question before a call"
	p.Y.Label.Text = "seconds until the first token of the call"
	p.Y.Min = 0
	var asked, then plotter.Values
	var names []string
	for _, c := range costs {
		asked = append(asked, c.question.Seconds())
		then = append(then, (c.first - c.question).Round(time.Microsecond).Seconds())
		names = append(names, c.name)
	}
	question, err := plotter.NewBarChart(asked, vg.Points(48))
	if err != nil {
		return err
	}
	call, err := plotter.NewBarChart(then, vg.Points(48))
	if err != nil {
		return err
	}
	question.Color, call.Color = color.RGBA{0x33, 0x66, 0xaa, 0xff}, color.RGBA{0xdd, 0x99, 0x33, 0xff}
	question.LineStyle.Width, call.LineStyle.Width = 0, 0
	call.StackOn(question)
	p.Add(plotter.NewGrid(), question, call)
	p.Legend.Add("the question", question)
	p.Legend.Add("the call's prompt", call)
	p.Legend.Top = true
	p.Legend.XOffs = -vg.Millimeter
	p.Title.Padding = 2 * vg.Millimeter
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(costs))-0.5 // whole bars at the ends
	return p.Save(14*vg.Centimeter, 9*vg.Centimeter, path)
}
