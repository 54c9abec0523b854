package cpu

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The compiler may fuse x*y + z where the processor can, and then rounds once: generic code writes
// float32(x*y) + z, which forbids it.
func TestGenericCodeRoundsProducts(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../../../quant"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		checked := map[*ast.File]bool{}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "_other") || strings.Contains(name, "_windows") || strings.Contains(name, "_arm64") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(fset, name, src, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			base := filepath.Base(name)
			checked[f] = strings.HasSuffix(base, "_generic.go") || base == "angle.go" || dir != "." && !strings.HasPrefix(base, "encode")
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		config := types.Config{Importer: importer.Default(), Error: func(error) {}}
		_, _ = config.Check(dir, fset, files, info) // imports may be missing: what is float is known all the same
		n := 0
		for f, check := range checked {
			if check {
				n++
				reportFused(t, fset, f, info)
			}
		}
		if n < 3 {
			t.Errorf("%s: %d files looked at", dir, n)
		}
	}
}

func reportFused(t *testing.T, fset *token.FileSet, f *ast.File, info *types.Info) {
	product := func(e ast.Expr) bool {
		for {
			p, ok := e.(*ast.ParenExpr)
			if !ok {
				break
			}
			e = p.X
		}
		b, ok := e.(*ast.BinaryExpr)
		if !ok || b.Op != token.MUL || info.Types[b].Value != nil {
			return false
		}
		basic, ok := info.Types[b].Type.(*types.Basic)
		return ok && basic.Info()&types.IsFloat != 0
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.BinaryExpr:
			if (e.Op == token.ADD || e.Op == token.SUB) && (product(e.X) || product(e.Y)) {
				t.Errorf("%s: a product that is added without being rounded", fset.Position(e.Pos()))
			}
		case *ast.AssignStmt:
			if (e.Tok == token.ADD_ASSIGN || e.Tok == token.SUB_ASSIGN) && product(e.Rhs[0]) {
				t.Errorf("%s: a product that is added without being rounded", fset.Position(e.Pos()))
			}
		}
		return true
	})
}
