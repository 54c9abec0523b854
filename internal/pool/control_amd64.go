package pool

// controlDefault: rounding to nearest, subnormals kept, all exceptions masked.
const controlDefault = 0x1f80
