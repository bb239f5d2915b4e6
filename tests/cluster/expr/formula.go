package main

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
)

type result struct {
	Value *string `json:",omitempty"`
	Nil   bool    `json:",omitempty"`
	Error string  `json:",omitempty"`
}

// As ValidateAndCompileScalingModifiers() of apis/keda/v1alpha1/scaledobject_webhook.go compiles it, and as
// calculateScalingModifiersFormula() of pkg/scaling/modifiers/formula.go runs it.
func runFormula(formula string, names []string, values []map[string]*float64) any {
	triggers := map[string]float64{}
	for _, name := range names {
		triggers[name] = -1
	}
	program, err := expr.Compile(castToFloatIfNecessary(formula), expr.Env(triggers))
	if err != nil {
		return refusal{err.Error()}
	}
	results := []result{}
	for _, given := range values {
		data := map[string]any{}
		for name, value := range given {
			if value == nil {
				data[name] = nil
			} else {
				data[name] = *value
			}
		}
		out, err := expr.Run(program, data)
		switch value := out.(type) {
		case float64:
			results = append(results, result{Value: said(formatFloat(value))})
		case nil:
			if err != nil {
				results = append(results, result{Error: err.Error()})
			} else {
				results = append(results, result{Nil: true})
			}
		default:
			results = append(results, result{Error: fmt.Sprintf("formula returned non-float result %T", value)})
		}
	}
	return struct{ Results []result }{results}
}

// Copied from scaledobject_webhook.go.
func castToFloatIfNecessary(formula string) string {
	if strings.Contains(formula, "??") {
		if strings.HasPrefix(formula, "let _kedaCompositeResult = ") {
			return formula
		}
		return fmt.Sprintf("let _kedaCompositeResult = (%s); _kedaCompositeResult == nil ? nil : float(_kedaCompositeResult)", formula)
	}
	if strings.HasPrefix(formula, "float(") {
		return formula
	}
	return "float(" + formula + ")"
}
