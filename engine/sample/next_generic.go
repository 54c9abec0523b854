package sample

// nextGeneric returns the first place from i on whose logit is above low or NaN, or the row's
// length. Nearly all of a row is passed over here, so eight logits share the loop's own
// instructions.
func nextGeneric(row []float32, i int, low float32) int {
	for ; i+8 <= len(row); i += 8 {
		p := (*[8]float32)(row[i:])
		if !(p[0] <= low && p[1] <= low && p[2] <= low && p[3] <= low && p[4] <= low && p[5] <= low && p[6] <= low && p[7] <= low) {
			break
		}
	}
	for ; i < len(row); i++ {
		if !(row[i] <= low) {
			break
		}
	}
	return i
}
