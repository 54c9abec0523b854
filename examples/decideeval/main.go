// Decideeval asks a model labelled questions and says how good its answers are: accuracy, negative
// log-likelihood, calibration error, what accuracy is left when it may abstain, and what a decision
// costs. With -fit it fits a calibrator on one part of the rows and tests it on the other.
//
//	go run ./examples/decideeval -rows 20 rows.jsonl
//	go run ./examples/decideeval -model qwen3-0.6b-q8_0.gguf -rows 500 -fit temperature -save cal.json -png cal.png rows.jsonl.gz
//
// A row is a JSON object with
//
//	type      "boolean", "choice" or "score"
//	input     the state as text; or messages, and perhaps tools, as chat completions have them
//	question  the instructions; what -question says where a row has none
//	options   of a choice or score: a list of names or of {"name", "description"}, or a key of the
//	          object in -options
//	label     the right option's name; of a boolean true or false
//
// With -sets it makes the sets of rows that the embedded model is measured on from a folder with their
// sources, and prints a line for each: accuracy beside that of word overlap, and calibration error with
// the temperatures that the model ships.
//
//	go run ./examples/decideeval -sets all ../shared/data/decisions
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/fit"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

// config is what the command line says.
type config struct {
	model    string
	data     string
	options  string // file with lists of options; empty: options.json beside the data
	question string
	rows     int
	seed     uint64
	method   decide.Method
	orders   int
	keep     decide.Truncation
	parallel int
	fit      string
	holdout  float64
	save     string
	png      string
	sets     string
	hand     string
	out      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, c, os.Stdout, bar)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse(args []string, usage io.Writer) (config, error) {
	c := config{}
	f := flag.NewFlagSet("decideeval", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&c.model, "model", "", "GGUF file or safetensors folder; empty: the embedded model")
	f.StringVar(&c.options, "options", "", "JSON file with lists of options by key; empty: options.json beside the rows")
	f.StringVar(&c.question, "question", "Which of these is it about?", "instructions for rows without a question")
	f.IntVar(&c.rows, "rows", 0, "how many rows to ask, drawn by the seed; 0: all")
	f.Uint64Var(&c.seed, "seed", 1, "of the draw and the split")
	method := f.String("method", "automatic", "how options are read: automatic, label, code, path or each")
	f.IntVar(&c.orders, "orders", 0, "orders of the options to average over; 0: the given one")
	keep := f.String("keep", "", "what to keep of a state that is too long: head or tail; empty: it is an error")
	f.IntVar(&c.parallel, "parallel", 4, "decisions at once")
	f.StringVar(&c.fit, "fit", "", "calibrator to fit on one part and test on the other: temperature, platt or vector")
	f.Float64Var(&c.holdout, "holdout", 0.5, "part of the rows that the fit does not see")
	f.StringVar(&c.save, "save", "", "file for the fitted calibrator")
	f.StringVar(&c.png, "png", "", "file for the reliability diagram")
	f.StringVar(&c.sets, "sets", "", "sets to make and ask, with commas between: "+strings.Join(setNames, ", ")+", hand:NAME, or all")
	f.StringVar(&c.hand, "hand", "model/embedded/train/hand", "with -sets, folder with rows written by hand")
	f.StringVar(&c.out, "out", "", "with -sets, file to write the rows to instead of asking them")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() != 1 {
		return c, fmt.Errorf("decideeval: %d files of rows, needs 1", f.NArg())
	}
	c.data = f.Arg(0)
	if c.options == "" {
		c.options = filepath.Join(filepath.Dir(c.data), "options.json")
	}
	for m := decide.Automatic; m <= decide.Each; m++ {
		if m.String() == *method {
			c.method = m
			*method = ""
		}
	}
	if *method != "" {
		return c, fmt.Errorf("decideeval: -method: there is none called %q", *method)
	}
	switch *keep {
	case "":
	case "head":
		c.keep = decide.KeepHead()
	case "tail":
		c.keep = decide.KeepTail()
	default:
		return c, fmt.Errorf("decideeval: -keep: %q, must be head or tail", *keep)
	}
	switch c.fit {
	case "", "temperature", "platt", "vector":
	default:
		return c, fmt.Errorf("decideeval: -fit: there is none called %q", c.fit)
	}
	if c.sets != "" && (c.fit != "" || c.png != "") || c.out != "" && c.sets == "" {
		return c, errors.New("decideeval: -sets goes without -fit and -png, and -out needs it")
	}
	if c.save != "" && c.fit == "" {
		return c, errors.New("decideeval: -save needs -fit")
	}
	return c, nil
}

// bar returns what shows progress on a terminal, and nothing elsewhere.
func bar(total int) func(done, total int) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	b := progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString("decisions"), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond))
	return func(done, _ int) { _ = b.Set(done) }
}

func run(ctx context.Context, c config, out io.Writer, progress func(total int) func(done, total int)) error {
	src := model.Embedded()
	if c.model != "" {
		src = model.File(c.model)
	}
	eng, err := engine.Open(ctx, src)
	if err != nil {
		return err
	}
	defer eng.Close()
	if c.sets != "" {
		return runSets(ctx, c, eng, eng.Info().Template, out, progress)
	}
	examples, notes, err := load(c, eng.Info().Template)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintf(out, "%s: %d rows of %s\n", eng.Info().Model, len(examples), filepath.Base(c.data))

	o := fit.Options{
		Holdout: c.holdout, Seed: c.seed, Parallel: c.parallel, Progress: progress(len(examples)),
		Request: decide.Request{Method: c.method, Orders: c.orders, Truncate: c.keep},
	}
	m := &meter{engine: eng}
	begin := time.Now()
	set, err := fit.Read(ctx, m, examples, o)
	if err != nil {
		return err
	}
	p, labels := set.Probabilities(nil)
	all := fit.Measure(p, labels)
	fmt.Fprintf(out, "\naccuracy %.4f   NLL %.4f   Brier %.4f   ECE %.4f\n", all.Accuracy, all.NLL, all.Brier, all.ECE)
	m.print(out, time.Since(begin))
	abstention(out, p, labels)

	curves := []fit.Curve{{Name: "as read", Metrics: all}}
	if c.fit != "" {
		fits := map[string]func(fit.Options) (*decide.Calibrator, *fit.Report, error){
			"temperature": set.Temperature, "platt": set.Platt, "vector": set.Vector,
		}
		cal, report, err := fits[c.fit](o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%v", report)
		for _, b := range cal.Bands {
			fmt.Fprintf(out, "%v by %v, %d to %d options: temperature %.3f of %d rows\n", b.Kind, b.Method, b.From, b.To, b.Temperature, b.Examples)
		}
		curves = []fit.Curve{{Name: report.Baseline, Metrics: report.Before}, {Name: report.What, Metrics: report.After}}
		if c.save != "" {
			if err := write(c.save, cal.Save); err != nil {
				return err
			}
		}
	}
	if c.png == "" {
		return nil
	}
	return write(c.png, func(w io.Writer) error {
		return fit.Diagram(w, fmt.Sprintf("%s, %s", eng.Info().Model, filepath.Base(c.data)), curves...)
	})
}

// abstention prints what is right among the surest answers.
func abstention(out io.Writer, p [][]float64, labels []int) {
	fmt.Fprintf(out, "\nanswering only the surest:\nanswered  accuracy  from probability\n")
	for _, x := range fit.Abstention(p, labels, 10) {
		fmt.Fprintf(out, "%7.0f%%  %8.4f  %.4f\n", 100*x.Coverage, x.Accuracy, x.Threshold)
	}
}

// write makes a file of what f writes.
func write(path string, f func(w io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}
