package main

import (
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// drawAll writes one diagram for each trace, side by side.
func drawAll(path string, curves []curve) (err error) {
	var row []*plot.Plot
	for _, c := range curves {
		p := plot.New()
		p.Title.Text = c.name
		p.X.Label.Text = fmt.Sprintf("cache, %% of the working set of %d blocks", c.workingSet)
		p.Y.Label.Text = "prompt blocks found, %"
		p.Y.Min = 0
		p.Legend.Top = false
		for _, l := range []struct {
			name  string
			rates []float64
			color color.RGBA
			dash  []vg.Length
		}{
			{"optimum", c.best, color.RGBA{0x1b, 0x9e, 0x77, 0xff}, []vg.Length{vg.Points(6), vg.Points(3)}},
			{"hotpath", c.ours, color.RGBA{0xd9, 0x5f, 0x02, 0xff}, nil},
			{"plain LRU", c.plain, color.RGBA{0x75, 0x70, 0xb3, 0xff}, []vg.Length{vg.Points(2), vg.Points(2)}},
		} {
			pts := make(plotter.XYs, len(l.rates))
			for i, rate := range l.rates {
				pts[i] = plotter.XY{X: float64(sizes[i]), Y: rate}
			}
			line, err := plotter.NewLine(pts)
			if err != nil {
				return err
			}
			line.Color, line.Dashes, line.Width = l.color, l.dash, vg.Points(2)
			p.Add(line)
			p.Legend.Add(l.name, line)
		}
		row = append(row, p)
	}
	const width, height = 14 * vg.Centimeter, 10 * vg.Centimeter
	img := vgimg.New(width*vg.Length(len(row)), height)
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: vg.Millimeter * 6, PadTop: vg.Millimeter * 2, PadRight: vg.Millimeter * 4}
	for i, c := range plot.Align([][]*plot.Plot{row}, tiles, draw.New(img))[0] {
		row[i].Draw(c)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = vgimg.PngCanvas{Canvas: img}.WriteTo(f)
	return err
}
