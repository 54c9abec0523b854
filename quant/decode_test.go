package quant_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/quant"
)

type entry struct {
	Type     string
	Elements int     `json:"block_elements"`
	Bytes    int     `json:"block_bytes"`
	Group    int     `json:"group_elements"`
	Error    float64 `json:"rel_rms_error"`
	format   quant.Format
}

// index lists the formats that another engine encoded and decoded.
func index(t *testing.T) []entry {
	var file struct{ Types []entry }
	if err := json.Unmarshal(testdata.Read(t, "quant/index.json"), &file); err != nil {
		t.Fatal(err)
	}
	for i := range file.Types {
		f, err := quant.Parse(file.Types[i].Type)
		if err != nil {
			t.Fatal(err)
		}
		file.Types[i].format = f
	}
	return file.Types
}

func floats(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

func sameBits(a, b float32) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return math.Float32bits(a) == math.Float32bits(b) || a == 0 && b == 0
}

func TestDecodeEqualsOtherEngine(t *testing.T) {
	t.Parallel()
	for _, e := range index(t) {
		t.Run(e.Type, func(t *testing.T) {
			t.Parallel()
			if e.Elements != e.format.BlockLen() || e.Bytes != e.format.BlockBytes() {
				t.Fatalf("block of %d values, %d bytes; want %d, %d",
					e.format.BlockLen(), e.format.BlockBytes(), e.Elements, e.Bytes)
			}
			for _, kind := range []string{"", ".raw"} {
				blocks := testdata.Read(t, "quant/"+e.Type+kind+".blocks")
				want := floats(testdata.Read(t, "quant/"+e.Type+kind+".dec.f32"))
				got := make([]float32, len(want))
				if err := quant.Decode(got, e.format, blocks); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if !sameBits(got[i], want[i]) {
						t.Fatalf("%s value %d is %v, want %v", kind, i, got[i], want[i])
					}
				}
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	if err := quant.Decode(make([]float32, 256), quant.IQ2_S, make([]byte, 82)); !errors.Is(err, quant.ErrFormat) {
		t.Errorf("IQ2_S: %v", err)
	}
	if err := quant.Decode(make([]float32, 33), quant.Q8_0, make([]byte, 34)); !errors.Is(err, quant.ErrLength) {
		t.Errorf("half a block: %v", err)
	}
	if err := quant.Decode(make([]float32, 64), quant.Q8_0, make([]byte, 34)); !errors.Is(err, quant.ErrLength) {
		t.Errorf("short source: %v", err)
	}
}

// FuzzDecode checks that no bytes make a decoder panic or write past its block.
func FuzzDecode(f *testing.F) {
	for format := quant.F32; format <= quant.Q2_0; format++ {
		f.Add(uint8(format), make([]byte, 2*format.BlockBytes()))
	}
	f.Fuzz(func(t *testing.T, format uint8, src []byte) {
		fm := quant.Format(format)
		if !quant.CanDecode(fm) {
			if err := quant.Decode(nil, fm, src); !errors.Is(err, quant.ErrFormat) {
				t.Fatalf("%v: %v", fm, err)
			}
			return
		}
		n := len(src) / fm.BlockBytes() * fm.BlockLen()
		dst := make([]float32, n+1)
		guard := float32(12345.5)
		dst[n] = guard
		err := quant.Decode(dst[:n], fm, src)
		if (err == nil) != (len(src)%fm.BlockBytes() == 0) || dst[n] != guard {
			t.Fatalf("%v, %d bytes: %v", fm, len(src), err)
		}
	})
}
