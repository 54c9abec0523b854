// Package share keeps values that several users of one process hold together, such as mapped
// weights: made once, counted, and released by the last one.
package share

import "sync"

// Cache holds values by key. The zero Cache is ready to use; it is safe for concurrent use.
type Cache[V any] struct {
	mu      sync.Mutex
	entries map[string]*entry[V]
}

type entry[V any] struct {
	users   int
	once    sync.Once
	value   V
	release func() error
	err     error
}

// Get returns the value under key and a function that lets go of it. When nobody holds it, make
// makes it; callers that come meanwhile wait for that. An error is given to all who waited and not
// kept. The returned function may be called more than once; the calls after the first do nothing.
func (c *Cache[V]) Get(key string, make func() (V, func() error, error)) (V, func() error, error) {
	c.mu.Lock()
	if c.entries == nil {
		c.entries = map[string]*entry[V]{}
	}
	e := c.entries[key]
	if e == nil {
		e = &entry[V]{}
		c.entries[key] = e
	}
	e.users++
	c.mu.Unlock()

	e.once.Do(func() { e.value, e.release, e.err = make() })
	var once sync.Once
	var err error
	release := func() error {
		once.Do(func() { err = c.put(key, e) })
		return err
	}
	if e.err != nil {
		_ = release()
		var zero V
		return zero, nil, e.err
	}
	return e.value, release, nil
}

// put drops one user; the last one releases the value.
func (c *Cache[V]) put(key string, e *entry[V]) error {
	c.mu.Lock()
	e.users--
	last := e.users == 0
	if last && c.entries[key] == e {
		delete(c.entries, key)
	}
	c.mu.Unlock()
	if last && e.release != nil {
		return e.release()
	}
	return nil
}

// Len returns how many values are held.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}
