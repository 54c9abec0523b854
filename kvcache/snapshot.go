package kvcache

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// Identity says what the bytes of a snapshot mean. Restore refuses a snapshot in which any part
// differs. Each part is at most 65,535 bytes.
type Identity struct {
	Model     string // of the weights
	Tokenizer string
	Format    string // of keys and values
	Numerics  string
}

// BlockIO moves the bytes of blocks and states in the canonical layout of their format. Only the
// first rows rows of a block count: others may be written meanwhile and must not be read.
type BlockIO interface {
	BlockBytes() int // of a whole block
	StateBytes() int // 0 where the model has no recurrent state
	ExportBlock(b BlockID, rows int, dst []byte) error
	ImportBlock(b BlockID, rows int, src []byte) error
	ExportState(s StateID, dst []byte) error
	ImportState(s StateID, src []byte) error
}

// SnapshotInfo counts what a snapshot holds, or what Restore took from it.
type SnapshotInfo struct {
	Blocks, Tokens, Checkpoints int
	Skipped                     int // blocks that left the index meanwhile, or found no free block
}

// The file is little-endian: magic, version, identity, sizes, namespaces, count; then a record for
// each block, those to be evicted first in front, so that every block comes before the one it
// continues; then a SHA-256 of all before it. A record of 0 tokens stands for a block that had
// left the index by the time it was its turn.
const (
	snapshotMagic   = "hotpthKV"
	snapshotVersion = 1
	rootRecord      = math.MaxUint32 // the parent of a first block; its namespace follows
)

// entry is a block to be written, as it was when the snapshot began.
type entry struct {
	block  BlockID
	stamp  uint32
	rows   int
	parent uint32
	ns     uint32
	since  int64
	depth  int32
}

// Snapshot writes the prefix of the hit, or the whole index when it is nil, through the device.
// Others go on meanwhile; each block is pinned only while it is written, and the order of eviction
// stays.
func (c *Cache) Snapshot(ctx context.Context, w io.Writer, id Identity, dev BlockIO, of *Hit) (SnapshotInfo, error) {
	list, spaces := c.entries(of)
	sum := sha256.New()
	buf := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	e := encoder{w: buf}
	e.raw([]byte(snapshotMagic))
	e.u32(snapshotVersion)
	for _, part := range id.parts() {
		e.text(*part)
	}
	e.u32(uint32(c.size))
	e.u32(uint32(dev.BlockBytes()))
	e.u32(uint32(dev.StateBytes()))
	e.u32(uint32(len(spaces)))
	for _, ns := range spaces {
		e.text(ns.Salt)
		e.text(ns.Adapter)
	}
	e.u32(uint32(len(list)))
	var info SnapshotInfo
	data := make([]byte, dev.BlockBytes())
	state := make([]byte, dev.StateBytes())
	for _, it := range list {
		if err := ctx.Err(); err != nil {
			return info, err
		}
		if err := c.writeBlock(&e, it, dev, data, state, &info); err != nil {
			return info, err
		}
		if e.err != nil {
			return info, fmt.Errorf("kvcache: snapshot: %w", e.err)
		}
	}
	if err := buf.Flush(); err != nil {
		return info, fmt.Errorf("kvcache: snapshot: %w", err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return info, fmt.Errorf("kvcache: snapshot: %w", err)
	}
	return info, nil
}

func (id *Identity) parts() [4]*string {
	return [4]*string{&id.Model, &id.Tokenizer, &id.Format, &id.Numerics}
}

// entries lists what to write, in order.
func (c *Cache) entries(of *Hit) (list []entry, spaces []Namespace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	add := func(b BlockID, rows int) {
		it := entry{block: b, stamp: c.pool.stamp[b], rows: rows, since: c.pool.since[b], depth: c.pool.depth[b]}
		if c.pool.ref[b] > 0 {
			it.since = c.pool.clock
		}
		list = append(list, it)
	}
	if of != nil {
		if of.cache == c {
			for i, b := range of.Blocks {
				add(b, min(c.size, of.Len-i*c.size))
			}
		}
	} else {
		for i := range c.index.nodes {
			if b := BlockID(i); c.index.Has(b) {
				add(b, len(c.index.Tokens(b)))
			}
		}
	}
	// What is idle for longest goes first; of one release, the tail. That order is almost the
	// one wanted already; a parent that was idle for longer than a child moves behind it.
	slices.SortStableFunc(list, func(a, b entry) int {
		if o := cmp.Compare(a.since, b.since); o != 0 {
			return o
		}
		return cmp.Compare(b.depth, a.depth)
	})
	list = c.parentsLast(list)
	at := make(map[BlockID]uint32, len(list))
	for i, it := range list {
		at[it.block] = uint32(i)
	}
	known := map[Namespace]uint32{}
	for i := range list {
		it := &list[i]
		up := c.index.nodes[it.block].up
		if up >= 0 {
			it.parent = at[BlockID(up)]
			continue
		}
		it.parent = rootRecord
		if up == unindexed { // of a hit whose block has left the index: it is skipped when its turn comes
			continue
		}
		ns := c.index.roots[^up].ns
		n, ok := known[ns]
		if !ok {
			n = uint32(len(spaces))
			known[ns] = n
			spaces = append(spaces, ns)
		}
		it.ns = n
	}
	return list, spaces
}

// parentsLast reorders the list so that each block comes before the one it continues.
func (c *Cache) parentsLast(list []entry) []entry {
	at := make(map[BlockID]int, len(list))
	for i, it := range list {
		at[it.block] = i
	}
	out := make([]entry, 0, len(list))
	done := make([]bool, len(list))
	var chain []int
	for i := len(list) - 1; i >= 0; i-- { // newest first, ancestors before it
		for k := i; !done[k]; {
			done[k] = true
			chain = append(chain, k)
			up := c.index.nodes[list[k].block].up
			next, ok := at[BlockID(up)]
			if up < 0 || !ok {
				break
			}
			k = next
		}
		for len(chain) > 0 {
			out = append(out, list[chain[len(chain)-1]])
			chain = chain[:len(chain)-1]
		}
	}
	slices.Reverse(out)
	return out
}

// writeBlock writes one record. The block is pinned meanwhile, also if the device panics.
func (c *Cache) writeBlock(e *encoder, it entry, dev BlockIO, data, state []byte, info *SnapshotInfo) error {
	tokens, marks := c.pin(it)
	e.u32(uint32(len(tokens)))
	if tokens == nil {
		info.Skipped++
		return nil
	}
	defer c.unpin(it, marks)
	e.u32(it.parent)
	if it.parent == rootRecord {
		e.u32(it.ns)
	}
	for _, t := range tokens {
		e.u32(uint32(t))
	}
	clear(data)
	if err := dev.ExportBlock(it.block, it.rows, data); err != nil {
		return fmt.Errorf("kvcache: snapshot: block %d: %w", it.block, err)
	}
	e.raw(data)
	e.u32(uint32(len(marks)))
	for _, m := range marks {
		e.u32(uint32(m.rows))
		if err := dev.ExportState(m.state, state); err != nil {
			return fmt.Errorf("kvcache: snapshot: state %d: %w", m.state, err)
		}
		e.raw(state)
	}
	info.Blocks++
	info.Tokens += len(tokens)
	info.Checkpoints += len(marks)
	return nil
}

func (c *Cache) pin(it entry) (tokens []int32, marks []mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := it.block
	if !c.index.Has(b) || c.pool.stamp[b] != it.stamp || len(c.index.Tokens(b)) < it.rows {
		return nil, nil
	}
	c.pool.Ref(b)
	if c.states != nil {
		for _, m := range c.states.at[b] {
			if m.rows <= it.rows {
				c.states.ref(m.state)
				marks = append(marks, m)
			}
		}
	}
	return slices.Clone(c.index.Tokens(b)[:it.rows]), marks
}

func (c *Cache) unpin(it entry, marks []mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool.Unref(it.block)
	if c.pool.ref[it.block] == 0 {
		c.pool.since[it.block] = it.since
	}
	for _, m := range marks {
		c.states.unref(m.state)
	}
}

// SnapshotFile writes a snapshot so that at path there is either the whole new file or what was
// there before, whenever the process or the machine stops.
func (c *Cache) SnapshotFile(ctx context.Context, path string, id Identity, dev BlockIO, of *Hit) (info SnapshotInfo, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return info, fmt.Errorf("kvcache: snapshot: %w", err)
	}
	defer func() {
		f.Close() // twice does no harm; on Windows an open file cannot be removed
		os.Remove(f.Name())
	}()
	if info, err = c.Snapshot(ctx, f, id, dev, of); err != nil {
		return info, err
	}
	if err = f.Sync(); err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return info, fmt.Errorf("kvcache: snapshot: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil { // not every system can sync a folder
		_ = dir.Sync()
		dir.Close()
	}
	return info, nil
}

// encoder keeps the first error, so that callers check once.
type encoder struct {
	w   io.Writer
	b   [4]byte
	err error
}

func (e *encoder) raw(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

func (e *encoder) u32(v uint32) {
	binary.LittleEndian.PutUint32(e.b[:], v)
	e.raw(e.b[:])
}

func (e *encoder) text(s string) {
	if len(s) > math.MaxUint16 && e.err == nil {
		e.err = fmt.Errorf("text of %d bytes, limit %d", len(s), math.MaxUint16)
	}
	e.u32(uint32(len(s)))
	e.raw([]byte(s))
}

// decoder reads and sums.
type decoder struct {
	r   *bufio.Reader
	sum hash.Hash
	b   [4]byte
	err error
}

func (d *decoder) raw(b []byte) {
	if d.err != nil {
		clear(b)
		return
	}
	if _, err := io.ReadFull(d.r, b); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("%w: cut off", ErrSnapshot)
		}
		d.err = err
		clear(b)
		return
	}
	d.sum.Write(b)
}

func (d *decoder) u32() uint32 {
	d.raw(d.b[:])
	return binary.LittleEndian.Uint32(d.b[:])
}

func (d *decoder) text(what string, most int) string {
	n := d.u32()
	if d.err == nil && n > uint32(most) {
		d.err = fmt.Errorf("%w: %s of %d bytes, limit %d", ErrSnapshot, what, n, most)
	}
	if d.err != nil {
		return ""
	}
	b := make([]byte, n)
	d.raw(b)
	return string(b)
}
