package engine

import "github.com/hotpath-go/hotpath/kvcache"

// CacheOf returns the engine's cache, whose own checks see what Stats does not.
func CacheOf(e *Engine) *kvcache.Cache { return e.cache }
