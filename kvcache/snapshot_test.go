package kvcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// memory is a device whose blocks hold 8 bytes a row; it fails or panics on request.
type memory struct {
	size   int
	rows   [][]uint64
	states []uint64
	calls  int
	failAt int // the call that fails; 0: none
	panics bool
}

func newMemory(blocks, size, states int) *memory {
	m := &memory{size: size, states: make([]uint64, states+1)}
	for range blocks {
		m.rows = append(m.rows, make([]uint64, size))
	}
	return m
}

var errDevice = errors.New("device failed")

func (m *memory) call() error {
	m.calls++
	if m.calls != m.failAt {
		return nil
	}
	if m.panics {
		panic(errDevice)
	}
	return errDevice
}

func (m *memory) BlockBytes() int { return 8 * m.size }
func (m *memory) StateBytes() int { return 8 * min(1, len(m.states)-1) }

func (m *memory) ExportBlock(b BlockID, rows int, dst []byte) error {
	for i, v := range m.rows[b][:rows] {
		binary.LittleEndian.PutUint64(dst[8*i:], v)
	}
	return m.call()
}

func (m *memory) ImportBlock(b BlockID, rows int, src []byte) error {
	for i := range rows {
		m.rows[b][i] = binary.LittleEndian.Uint64(src[8*i:])
	}
	return m.call()
}

func (m *memory) ExportState(s StateID, dst []byte) error {
	binary.LittleEndian.PutUint64(dst, m.states[s])
	return m.call()
}

func (m *memory) ImportState(s StateID, src []byte) error {
	m.states[s] = binary.LittleEndian.Uint64(src)
	return m.call()
}

// fill computes the tokens as a request of its own, in cache and device.
func (m *memory) fill(t testing.TB, c *Cache, ns Namespace, toks []int32, marks ...int) {
	t.Helper()
	s := mustSequence(t, c, ns, mustMatch(t, c, ns, toks, len(toks)), toks)
	s.Mark(marks...)
	for s.Sealed() < len(toks) {
		from := s.Sealed()
		to := s.NextStop(from, len(toks))
		mv, moved, err := s.Reserve(to)
		if err != nil {
			t.Fatal(err)
		}
		if moved {
			copy(m.rows[mv.To][:mv.Rows], m.rows[mv.From][:mv.Rows])
		}
		h := start(ns)
		for i, tok := range toks[:to] {
			if h = mix(h, tok); i >= from {
				m.rows[s.Blocks()[i/m.size]][i%m.size] = h
			}
		}
		if _, save := s.States(to); save != 0 {
			m.states[save] = h
		}
		if err := s.Seal(to); err != nil {
			t.Fatal(err)
		}
	}
	s.Release()
}

// holds checks that the cache has the prefix and the device its rows.
func (m *memory) holds(t *testing.T, c *Cache, ns Namespace, toks []int32) {
	t.Helper()
	hit := mustMatch(t, c, ns, toks, len(toks))
	defer hit.Release()
	if hit.Len != len(toks) {
		t.Fatalf("covers %d of %d tokens", hit.Len, len(toks))
	}
	h := start(ns)
	for i, tok := range toks {
		if h = mix(h, tok); m.rows[hit.Blocks[i/m.size]][i%m.size] != h {
			t.Fatalf("row %d holds something else", i)
		}
	}
	if hit.State != 0 && m.states[hit.State] != h {
		t.Fatal("the state is another one")
	}
}

var identity = Identity{Model: "m", Tokenizer: "t", Format: "bf16", Numerics: "n1"}

type prefix struct {
	ns   Namespace
	toks []int32
}

func prefixes() []prefix {
	return []prefix{
		{Namespace{}, count(0, 11)},
		{Namespace{}, append(count(0, 6), count(50, 7)...)},
		{Namespace{Salt: "s"}, count(0, 5)},
		{Namespace{Salt: "s", Adapter: "a"}, count(9, 4)},
	}
}

// snapshotOf returns a snapshot of the prefixes.
func snapshotOf(t testing.TB, states int) []byte {
	c := newCache(t, Options{Blocks: 32, BlockSize: 4, States: states})
	m := newMemory(32, 4, states)
	for _, p := range prefixes() {
		m.fill(t, c, p.ns, p.toks, len(p.toks))
	}
	var b bytes.Buffer
	info, err := c.Snapshot(context.Background(), &b, identity, m, nil)
	if err != nil || info.Blocks != c.Stats().Indexed || info.Skipped != 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	return b.Bytes()
}

func TestRestartedProcessIsWarm(t *testing.T) {
	t.Parallel()
	for _, states := range []int{0, 12} {
		file := snapshotOf(t, states)
		c := newCache(t, Options{Blocks: 20, BlockSize: 4, States: states})
		m := newMemory(20, 4, states)
		m.fill(t, c, Namespace{}, count(0, 6), 6) // some of it is there already
		info, err := c.Restore(context.Background(), bytes.NewReader(file), identity, m)
		if err != nil {
			t.Fatal(err)
		}
		checked(t, c)
		for _, p := range prefixes() {
			m.holds(t, c, p.ns, p.toks)
		}
		if s := c.Stats(); s.Referenced != 0 || info.Blocks == 0 {
			t.Errorf("%+v, %+v", info, s)
		}
	}
}

func TestSnapshotOfOnePrefix(t *testing.T) {
	t.Parallel()
	c := newCache(t, Options{Blocks: 32, BlockSize: 4})
	m := newMemory(32, 4, 0)
	m.fill(t, c, Namespace{}, count(0, 12))
	m.fill(t, c, Namespace{}, count(70, 12))
	hit := mustMatch(t, c, Namespace{}, count(0, 10), 10)
	var b bytes.Buffer
	if info, err := c.Snapshot(context.Background(), &b, identity, m, hit); err != nil || info.Tokens != 10 {
		t.Fatal(info, err)
	}
	d := newCache(t, Options{Blocks: 32, BlockSize: 4})
	n := newMemory(32, 4, 0)
	if _, err := d.Restore(context.Background(), &b, identity, n); err != nil {
		t.Fatal(err)
	}
	n.holds(t, d, Namespace{}, count(0, 10))
	if s := d.Stats(); s.Indexed != 3 {
		t.Errorf("%d blocks restored", s.Indexed)
	}
}

// TestSnapshotKeepsTheOrderOfEviction: neither side changes who goes first.
func TestSnapshotKeepsTheOrderOfEviction(t *testing.T) {
	t.Parallel()
	fill := func(c *Cache, m *memory) {
		for i := range 4 {
			m.fill(t, c, Namespace{}, count(100*i, 8))
		}
		m.holds(t, c, Namespace{}, count(100, 8)) // the second was used last
	}
	order := func(c *Cache) (out []int32) {
		for {
			b, ok := c.opt.Policy.Evict()
			if !ok {
				return out
			}
			out = append(out, c.index.Tokens(b)[0])
			defer c.opt.Policy.Add(b, Use{})
		}
	}
	plain, m := newCache(t, Options{Blocks: 8, BlockSize: 4, Policy: NewLRU(8)}), newMemory(8, 4, 0)
	fill(plain, m)
	want := order(plain)
	if !slices.Equal(want, []int32{4, 0, 204, 200, 304, 300, 104, 100}) {
		t.Fatalf("order %v", want)
	}
	c, m := newCache(t, Options{Blocks: 8, BlockSize: 4, Policy: NewLRU(8)}), newMemory(8, 4, 0)
	fill(c, m)
	var b bytes.Buffer
	if _, err := c.Snapshot(context.Background(), &b, identity, m, nil); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	if got := order(c); !slices.Equal(got, want) {
		t.Errorf("order %v after the snapshot, %v before", got, want)
	}
	d := newCache(t, Options{Blocks: 8, BlockSize: 4, Policy: NewLRU(8)})
	if _, err := d.Restore(context.Background(), bytes.NewReader(file), identity, newMemory(8, 4, 0)); err != nil {
		t.Fatal(err)
	}
	if got := order(d); !slices.Equal(got, want) {
		t.Errorf("order %v after the restore, %v before", got, want)
	}
	small := newCache(t, Options{Blocks: 3, BlockSize: 4, Policy: NewLRU(3)})
	if info, err := small.Restore(context.Background(), bytes.NewReader(file), identity, newMemory(3, 4, 0)); err != nil || info.Skipped != 5 {
		t.Fatal(info, err)
	}
	if got := order(small); !slices.Equal(got, []int32{300, 104, 100}) {
		t.Errorf("a smaller pool keeps %v", got)
	}
}

func TestForeignSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	file := snapshotOf(t, 0)
	for name, other := range map[string]Identity{
		"model":       {"x", "t", "bf16", "n1"},
		"tokenizer":   {"m", "x", "bf16", "n1"},
		"KV format":   {"m", "t", "f16", "n1"},
		"numerics id": {"m", "t", "bf16", "n2"},
	} {
		c := newCache(t, Options{Blocks: 32, BlockSize: 4})
		_, err := c.Restore(context.Background(), bytes.NewReader(file), other, newMemory(32, 4, 0))
		if !errors.Is(err, ErrForeign) || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := newCache(t, Options{Blocks: 32, BlockSize: 8})
	if _, err := c.Restore(context.Background(), bytes.NewReader(file), identity, newMemory(32, 8, 0)); !errors.Is(err, ErrForeign) {
		t.Errorf("another block size: %v", err)
	}
	newer := slices.Clone(file)
	newer[len(snapshotMagic)]++
	if _, err := c.Restore(context.Background(), bytes.NewReader(newer), identity, newMemory(32, 8, 0)); !errors.Is(err, ErrForeign) {
		t.Errorf("another version: %v", err)
	}
}

// TestDamagedSnapshotRestoresNothing flips every byte and cuts at every length.
func TestDamagedSnapshotRestoresNothing(t *testing.T) {
	t.Parallel()
	file := snapshotOf(t, 12)
	try := func(what string, file []byte) {
		c := newCache(t, Options{Blocks: 32, BlockSize: 4, States: 12})
		_, err := c.Restore(context.Background(), bytes.NewReader(file), identity, newMemory(32, 4, 12))
		if !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrForeign) {
			t.Fatalf("%s: %v", what, err)
		}
		checked(t, c)
		if s := c.Stats(); s.Free != s.Blocks || s.StatesFree != s.States {
			t.Fatalf("%s: something was restored: %+v", what, s)
		}
	}
	for i := range file {
		bad := slices.Clone(file)
		bad[i] ^= 0x41
		try(fmt.Sprint("byte ", i), bad)
		try(fmt.Sprint("cut at ", i), file[:i])
	}
}

// TestDeviceFailsAtEveryCall: export and import that fail or panic at the nth call.
func TestDeviceFailsAtEveryCall(t *testing.T) {
	t.Parallel()
	file := snapshotOf(t, 12)
	try := func(f func() error) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = r.(error)
			}
		}()
		return f()
	}
	for _, panics := range []bool{false, true} {
		for n := 1; ; n++ {
			c, m := newCache(t, Options{Blocks: 32, BlockSize: 4, States: 12}), newMemory(32, 4, 12)
			m.failAt, m.panics = n, panics
			err := try(func() error {
				_, err := c.Restore(context.Background(), bytes.NewReader(file), identity, m)
				return err
			})
			checked(t, c)
			if err == nil {
				break
			}
			if s := c.Stats(); !errors.Is(err, errDevice) || s.Free != s.Blocks || s.StatesFree != s.States {
				t.Fatalf("import %d: %v, %+v", n, err, s)
			}
		}
		for n := 1; ; n++ {
			c, m := newCache(t, Options{Blocks: 32, BlockSize: 4, States: 12}), newMemory(32, 4, 12)
			for _, p := range prefixes() {
				m.fill(t, c, p.ns, p.toks, len(p.toks))
			}
			m.failAt, m.panics = n, panics
			err := try(func() error {
				_, err := c.Snapshot(context.Background(), &bytes.Buffer{}, identity, m, nil)
				return err
			})
			checked(t, c)
			if s := c.Stats(); s.Referenced != 0 || s.StatesFree+s.Checkpoints != s.States {
				t.Fatalf("export %d: %v, %+v", n, err, s)
			}
			if err == nil {
				break
			}
		}
	}
}

func TestSnapshotFileIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "prefix.kv")
	c, m := newCache(t, Options{Blocks: 32, BlockSize: 4}), newMemory(32, 4, 0)
	m.fill(t, c, Namespace{}, count(0, 11))
	if _, err := c.SnapshotFile(context.Background(), path, identity, m, nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m.calls, m.failAt = 0, 2
	if _, err := c.SnapshotFile(context.Background(), path, identity, m, nil); !errors.Is(err, errDevice) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.SnapshotFile(ctx, path, identity, m, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestSnapshotBesideTraffic: blocks that are evicted meanwhile are left out, whole chains of them.
func TestSnapshotBesideTraffic(t *testing.T) {
	t.Parallel()
	c, m := newCache(t, Options{Blocks: 16, BlockSize: 4}), newMemory(16, 4, 0)
	m.fill(t, c, Namespace{}, count(0, 12))
	m.fill(t, c, Namespace{}, count(100, 40))
	busy := &busyWriter{busy: func() {
		m.fill(t, c, Namespace{}, count(500, 56)) // evicts the first, and the tail of the second
	}}
	dev := &exporting{memory: m, hook: busy.once}
	info, err := c.Snapshot(context.Background(), &busy.b, identity, dev, nil)
	if err != nil || info.Skipped == 0 {
		t.Fatal(info, err)
	}
	checked(t, c)
	d, n := newCache(t, Options{Blocks: 16, BlockSize: 4}), newMemory(16, 4, 0)
	got, err := d.Restore(context.Background(), &busy.b, identity, n)
	if err != nil {
		t.Fatal(err)
	}
	checked(t, d)
	hit := mustMatch(t, d, Namespace{}, count(100, 40), 40)
	n.holds(t, d, Namespace{}, count(100, hit.Len))
	if s := d.Stats(); s.Indexed != got.Blocks {
		t.Errorf("%+v, %+v", got, s)
	}
}

type busyWriter struct {
	b    bytes.Buffer
	busy func()
	done bool
}

func (w *busyWriter) once() {
	if !w.done {
		w.done = true
		w.busy()
	}
}

type exporting struct {
	*memory
	hook func()
}

func (e *exporting) ExportBlock(b BlockID, rows int, dst []byte) error {
	err := e.memory.ExportBlock(b, rows, dst)
	e.hook()
	return err
}

// FuzzRestore gives each input as it is, and with the checksum it would need to be believed.
func FuzzRestore(f *testing.F) {
	for _, states := range []int{0, 12} {
		file := snapshotOf(f, states)
		f.Add(file)
		f.Add(file[:len(file)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		for _, file := range [][]byte{body, append(slices.Clone(body), sum[:]...)} {
			for _, states := range []int{0, 12} {
				c := newCache(t, Options{Blocks: 16, BlockSize: 4, States: states})
				_, err := c.Restore(context.Background(), bytes.NewReader(file), identity, newMemory(16, 4, states))
				checked(t, c)
				if s := c.Stats(); s.Referenced != 0 || err != nil && s.Free != s.Blocks {
					t.Fatalf("%v: %+v", err, s)
				}
			}
		}
	})
}
