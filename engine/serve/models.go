package serve

import (
	"net/http"
	"strings"
	"time"
)

// model is an entry of OpenAI's list, with the context length as vLLM gives it.
type modelEntry struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
	Context int    `json:"max_model_len"`
}

// described is an entry of TypeSafe's list.
type described struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Released    string `json:"release_date"`
}

func (h *Handler) entry(name string) modelEntry {
	return modelEntry{ID: name, Object: "model", Created: h.opened.Unix(), Owner: "hotpath", Context: h.engine.Info().Context}
}

func (h *Handler) listModels(x *exchange) error {
	info := h.engine.Info()
	list := struct {
		Object string       `json:"object"`
		Data   []modelEntry `json:"data"`
		Models []described  `json:"models"`
	}{Object: "list"}
	for _, name := range h.models {
		if name == "*" {
			continue
		}
		list.Data = append(list.Data, h.entry(name))
		list.Models = append(list.Models, described{
			Name: name, Description: info.Family + " on hotpath", Released: h.opened.UTC().Format(time.DateOnly),
		})
	}
	return x.json(http.StatusOK, list)
}

func (h *Handler) oneModel(x *exchange) error {
	name := strings.TrimPrefix(x.r.URL.Path, "/v1/models/")
	if name == "*" || !h.serves(name) {
		return h.modelError(name + " ")
	}
	return x.json(http.StatusOK, h.entry(name))
}
