package fit

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// PNG writes the reliability diagram: for each bin of confidence the accuracy of its answers, before
// and after. On the diagonal, confidence and accuracy agree. Bars show which part of the answers
// after the fit lies in each bin.
func (r *Report) PNG(w io.Writer) error {
	return Diagram(w, fmt.Sprintf("%d examples", r.After.Examples), Curve{r.Baseline, r.Before}, Curve{r.What, r.After})
}

// Curve is one named line of a reliability diagram.
type Curve struct {
	Name    string
	Metrics Metrics
}

// Diagram writes a reliability diagram of some curves; the bars are of the last one.
func Diagram(w io.Writer, title string, curves ...Curve) error {
	if len(curves) == 0 {
		return fmt.Errorf("%w: a diagram of no curves", ErrOptions)
	}
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = "probability of the answer", "part that is right"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), vg.Points(-8)
	p.Add(plotter.NewGrid())

	last := curves[len(curves)-1].Metrics
	for i, b := range last.Bins {
		if b.Examples == 0 {
			continue
		}
		x0, x1 := float64(i)/Bins, float64(i+1)/Bins
		y := float64(b.Examples) / float64(last.Examples)
		bar, err := plotter.NewPolygon(plotter.XYs{{X: x0, Y: 0}, {X: x1, Y: 0}, {X: x1, Y: y}, {X: x0, Y: y}})
		if err != nil {
			return err
		}
		bar.Color = color.NRGBA{R: 0x88, G: 0x88, B: 0x88, A: 0x40}
		bar.LineStyle.Color = color.NRGBA{R: 0x88, G: 0x88, B: 0x88, A: 0x90}
		p.Add(bar)
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return err
	}
	diagonal.Color = color.Gray{Y: 0x70}
	diagonal.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(diagonal)

	colors := []color.Color{color.NRGBA{R: 0xd9, G: 0x5f, B: 0x02, A: 0xff}, color.NRGBA{R: 0x1b, G: 0x6c, B: 0xa8, A: 0xff}, color.NRGBA{R: 0x1b, G: 0x9e, B: 0x55, A: 0xff}}
	for i, c := range curves {
		var xy plotter.XYs
		for _, b := range c.Metrics.Bins {
			if b.Examples > 0 {
				xy = append(xy, plotter.XY{X: b.Confidence, Y: b.Accuracy})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		line.Color, line.Width = colors[i%len(colors)], vg.Points(1.5)
		points.Color, points.Radius = colors[i%len(colors)], vg.Points(3)
		points.Shape = draw.CircleGlyph{}
		p.Add(line, points)
		p.Legend.Add(fmt.Sprintf("%s (ECE %.3f)", c.Name, c.Metrics.ECE), line, points)
	}
	out, err := p.WriterTo(14*vg.Centimeter, 14*vg.Centimeter, "png")
	if err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}
