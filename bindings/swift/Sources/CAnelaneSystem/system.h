/* Nothing: this module exists so that the package manager asks pkg-config where libanelane is. */
