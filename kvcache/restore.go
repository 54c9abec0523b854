package kvcache

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
)

// Restore reads a snapshot into free blocks of the pool and files them in the index, beside what is
// there. Where fewer blocks are free than the snapshot holds it leaves out those that would have
// been evicted first. ErrForeign: the snapshot is of another model, format or version. ErrSnapshot:
// it is damaged. After any error nothing of it is in the cache.
func (c *Cache) Restore(ctx context.Context, r io.Reader, id Identity, dev BlockIO) (info SnapshotInfo, err error) {
	d := decoder{r: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	spaces, count, err := c.restoreHeader(&d, id, dev)
	if err != nil {
		return info, err
	}
	in := restoring{cache: c, dev: dev, spaces: spaces, data: make([]byte, dev.BlockBytes()), state: make([]byte, dev.StateBytes())}
	defer in.giveBack() // whatever was not filed, also if the device panics
	c.mu.Lock()
	skip := max(0, int(count)-len(c.pool.free))
	c.mu.Unlock()
	for i := range count {
		if err := ctx.Err(); err != nil {
			return SnapshotInfo{}, err
		}
		if err := in.record(&d, i, count, int(i) < skip); err != nil {
			return SnapshotInfo{}, err
		}
	}
	want := [sha256.Size]byte(d.sum.Sum(nil))
	var got [sha256.Size]byte
	d.raw(got[:])
	if d.err != nil {
		return SnapshotInfo{}, d.err
	}
	if got != want {
		return SnapshotInfo{}, fmt.Errorf("%w: checksum differs", ErrSnapshot)
	}
	return in.file(), nil
}

func (c *Cache) restoreHeader(d *decoder, id Identity, dev BlockIO) (spaces []Namespace, count uint32, err error) {
	magic := make([]byte, len(snapshotMagic))
	d.raw(magic)
	version := d.u32()
	switch {
	case d.err != nil:
		return nil, 0, d.err
	case string(magic) != snapshotMagic:
		return nil, 0, fmt.Errorf("%w: not a snapshot", ErrSnapshot)
	case version != snapshotVersion:
		return nil, 0, fmt.Errorf("%w: version %d, this is %d", ErrForeign, version, snapshotVersion)
	}
	for i, mine := range id.parts() {
		name := [...]string{"model", "tokenizer", "KV format", "numerics id"}[i]
		theirs := d.text(name, math.MaxUint16)
		if d.err == nil && theirs != *mine {
			return nil, 0, fmt.Errorf("%w: %s %q, here %q", ErrForeign, name, theirs, *mine)
		}
	}
	for _, f := range []struct {
		name string
		mine int
	}{{"block size", c.size}, {"bytes of a block", dev.BlockBytes()}, {"bytes of a state", dev.StateBytes()}} {
		if theirs := d.u32(); d.err == nil && theirs != uint32(f.mine) {
			return nil, 0, fmt.Errorf("%w: %s %d, here %d", ErrForeign, f.name, theirs, f.mine)
		}
	}
	for n := d.u32(); n > 0 && d.err == nil; n-- {
		ns := Namespace{Salt: d.text("salt", MaxNamespace), Adapter: d.text("adapter", MaxNamespace)}
		if err := ns.Check(); err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrSnapshot, err)
		}
		spaces = append(spaces, ns)
	}
	count = d.u32()
	return spaces, count, d.err
}

// restoring is a restore under way. Its blocks are referenced and not indexed until the checksum
// has been seen.
type restoring struct {
	cache       *Cache
	dev         BlockIO
	spaces      []Namespace
	records     []restored
	data, state []byte
	skipped     int
}

type restored struct {
	block  BlockID // NoBlock: skipped
	parent uint32
	ns     uint32
	tokens []int32
	marks  []mark
}

func (in *restoring) record(d *decoder, i, count uint32, skip bool) error {
	c := in.cache
	rec := restored{block: NoBlock}
	n := d.u32()
	if n == 0 || d.err != nil {
		in.skipped++
		in.records = append(in.records, rec)
		return d.err
	}
	if n > uint32(c.size) {
		return fmt.Errorf("%w: block %d: %d tokens, limit %d", ErrSnapshot, i, n, c.size)
	}
	if rec.parent = d.u32(); rec.parent == rootRecord {
		if rec.ns = d.u32(); d.err == nil && rec.ns >= uint32(len(in.spaces)) {
			return fmt.Errorf("%w: block %d: namespace %d of %d", ErrSnapshot, i, rec.ns, len(in.spaces))
		}
	} else if d.err == nil && (rec.parent <= i || rec.parent >= count) {
		return fmt.Errorf("%w: block %d: parent %d, range %d to %d", ErrSnapshot, i, rec.parent, i+1, count-1)
	}
	rec.tokens = make([]int32, n)
	for k := range rec.tokens {
		rec.tokens[k] = int32(d.u32())
	}
	d.raw(in.data)
	if d.err != nil {
		return d.err
	}
	if !skip {
		rec.block = in.take(int(n))
	}
	if rec.block == NoBlock {
		in.skipped++
	}
	in.records = append(in.records, rec) // from here on giveBack knows the block
	if rec.block != NoBlock {
		if err := in.dev.ImportBlock(rec.block, int(n), in.data); err != nil {
			return fmt.Errorf("kvcache: restore: block %d: %w", rec.block, err)
		}
	}
	marks := d.u32()
	if d.err == nil && marks > n {
		return fmt.Errorf("%w: block %d: %d checkpoints for %d tokens", ErrSnapshot, i, marks, n)
	}
	for range marks {
		rows := d.u32()
		d.raw(in.state)
		if d.err != nil {
			return d.err
		}
		if rows < 1 || rows > n {
			return fmt.Errorf("%w: block %d: checkpoint at row %d of %d", ErrSnapshot, i, rows, n)
		}
		if err := in.checkpoint(&in.records[i], int(rows)); err != nil {
			return err
		}
	}
	return d.err
}

// take gets a free block: a restore evicts nothing.
func (in *restoring) take(rows int) BlockID {
	c := in.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pool.free) == 0 {
		return NoBlock
	}
	b, _ := c.take(0)
	c.pool.Seal(b, rows)
	return b
}

func (in *restoring) checkpoint(rec *restored, rows int) error {
	c := in.cache
	if rec.block == NoBlock || c.states == nil {
		return nil
	}
	c.mu.Lock()
	var id StateID
	if len(c.states.free) > 0 {
		id, _ = c.states.take()
	}
	c.mu.Unlock()
	if id == 0 {
		return nil
	}
	rec.marks = append(rec.marks, mark{rows, id})
	if err := in.dev.ImportState(id, in.state); err != nil {
		return fmt.Errorf("kvcache: restore: state %d: %w", id, err)
	}
	return nil
}

// file puts everything into the index, heads first, and lets go of it tails first, which makes the
// order of eviction the one it was.
func (in *restoring) file() SnapshotInfo {
	c := in.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	info := SnapshotInfo{Skipped: in.skipped}
	for i := len(in.records) - 1; i >= 0; i-- {
		rec := &in.records[i]
		before, ns := NoBlock, Namespace{}
		if rec.parent == rootRecord && len(rec.tokens) > 0 {
			ns = in.spaces[rec.ns]
		} else if len(rec.tokens) > 0 {
			up := &in.records[rec.parent]
			if before = up.block; before == NoBlock || len(up.tokens) != c.size || !c.index.Has(before) {
				in.drop(rec)
				continue
			}
		}
		if rec.block == NoBlock {
			continue
		}
		stands, shorter := c.index.Put(ns, before, rec.block, rec.tokens)
		if shorter != NoBlock {
			c.moveMarks(shorter, rec.block)
			c.gone(shorter)
		}
		if stands == rec.block {
			c.pool.Keep(stands, in.depth(before))
			c.stats.Stored++
			info.Blocks++
			info.Tokens += len(rec.tokens)
			if c.opt.Events != nil {
				c.opt.Events(Event{Kind: Stored, Namespace: ns, Block: stands, Parent: before, Tokens: rec.tokens})
			}
		}
		for _, m := range rec.marks {
			c.states.file(stands, m.rows, m.state)
			info.Checkpoints++
		}
		if stands != rec.block { // it was there already
			c.pool.Ref(stands)
			c.pool.Unref(rec.block)
			rec.block = stands
		}
	}
	for i := range in.records {
		in.drop(&in.records[i])
	}
	c.check()
	return info
}

func (in *restoring) depth(before BlockID) int {
	if before == NoBlock {
		return 0
	}
	return int(in.cache.pool.depth[before]) + 1
}

// drop gives back the references of one record.
func (in *restoring) drop(rec *restored) {
	for _, m := range rec.marks {
		in.cache.states.unref(m.state)
	}
	if rec.block != NoBlock {
		in.cache.pool.Unref(rec.block)
	}
	rec.marks, rec.block = nil, NoBlock
}

func (in *restoring) giveBack() {
	in.cache.mu.Lock()
	defer in.cache.mu.Unlock()
	for i := range in.records {
		in.drop(&in.records[i])
	}
}
