package decide

import "sync"

// recent keeps values by key, those used lately, up to twice a total size. The zero value with most
// set is ready. It is safe for concurrent use.
type recent[V any] struct {
	most int

	mu         sync.Mutex
	young, old map[[32]byte]kept[V]
	size       int // of young
}

type kept[V any] struct {
	value V
	size  int
}

func (r *recent[V]) get(key [32]byte) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.young[key]
	if !ok {
		if k, ok = r.old[key]; ok {
			r.add(key, k)
		}
	}
	return k.value, ok
}

func (r *recent[V]) put(key [32]byte, v V, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if size <= r.most {
		r.add(key, kept[V]{v, size})
	}
}

func (r *recent[V]) add(key [32]byte, k kept[V]) {
	if r.young == nil || r.size+k.size > r.most {
		r.old, r.young, r.size = r.young, map[[32]byte]kept[V]{}, 0
	}
	r.size += k.size - r.young[key].size
	r.young[key] = k
}
