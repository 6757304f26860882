/* The profiles that exist without any configuration: a table. Daemon. */
#include "policy/profiles.h"

static const char *const min_preload[] = {NULL};

/* MPLBACKEND chooses matplotlib's backend before it is imported. */
static const char *const data_preload[] = {
    "import numpy as np",
    "import pandas as pd",
    "from scipy import stats, optimize, interpolate",
    "from sklearn import linear_model, tree, ensemble, cluster, preprocessing, model_selection, "
    "metrics",
    "import statsmodels.api as sm",
    "import matplotlib",
    "import matplotlib.pyplot as plt",
    "import seaborn as sns",
    "json",
    "csv",
    "datetime",
    "collections",
    "itertools",
    "functools",
    "math",
    "random",
    "re",
    "os",
    "sys",
    NULL,
};

const struct config_profile profiles_built_in[] = {
    {.name = "min", .preload = min_preload, .n_preload = 0},
    {.name = "data", .preload = data_preload, .n_preload = ARRAY_LEN(data_preload) - 1},
};

const size_t profiles_n_built_in = ARRAY_LEN(profiles_built_in);
