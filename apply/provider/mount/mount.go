package mount

import "bolt/apply/resource"

func Type() resource.Type { return nil }
