# ranger on one table, in a process of its own: what measure.py does for Python's libraries, and the same line of JSON.
#
#     Rscript ranger.R HOME ROWS REPEAT SECONDS TREES COLUMNS THREADS PREDICT

words <- commandArgs(trailingOnly = TRUE)
home <- words[1]
asked <- as.numeric(words[-1])
rows <- asked[1]; repeats <- asked[2]; seconds <- asked[3]; trees <- asked[4]; columns <- asked[5]
threads <- asked[6]; predicting <- asked[7] == 1
singles <- 20  # rows predicted one by one
suppressMessages(library(ranger))

# NumPy's file of a row-major array: a header whose length stands in bytes 9 and 10, then the numbers.
read_npy <- function(path, what, size, count) {
    file <- file(path, "rb")
    on.exit(close(file))
    readBin(file, "raw", 8)
    readBin(file, "raw", readBin(file, "integer", 1, size = 2, signed = FALSE))
    readBin(file, what, count, size = size)
}
memory <- function(field) {
    line <- grep(paste0("^", field), readLines("/proc/self/status"), value = TRUE)
    as.numeric(strsplit(trimws(sub(".*:", "", line)), " ")[[1]][1]) / 1024
}

total <- round(rows * 1.1)
x <- matrix(read_npy(file.path(home, "x.npy"), "double", 4, total * 20), ncol = 20, byrow = TRUE)
colnames(x) <- paste0("x", seq_len(20))
y <- read_npy(file.path(home, "y.npy"), "integer", 8, total)
y <- factor(y)
learn <- seq_len(rows)
held <- setdiff(seq_len(total), learn)
given <- x[learn, ]

fit <- function(cells, classes) {
    ranger(x = cells, y = classes, num.trees = trees, mtry = columns, min.node.size = 1, probability = FALSE,
           oob.error = FALSE, num.threads = threads, seed = 1, verbose = FALSE)
}
timed <- function(work, least, limit) {
    wall <- c(); cpu <- c()
    while (length(wall) < least || sum(wall) < limit) {
        took <- system.time(work())
        wall <- c(wall, took[["elapsed"]])
        cpu <- c(cpu, took[["user.self"]] + took[["sys.self"]])
    }
    c(wall = min(wall), cpu = min(cpu))
}
nodes <- function(model) sum(vapply(model$forest$split.varIDs, length, 1))
say <- function(found) cat("{", paste0('"', names(found), '": ', signif(unlist(found), 9), collapse = ", "), "}\n", sep = "")

invisible(fit(given[1:500, ], y[1:500]))
if (predicting) {
    model <- fit(given, y[learn])
    before <- memory("VmRSS")
    answer <- function(cells) predict(model, cells, num.threads = threads)$predictions
    best <- timed(function() answer(given), repeats, seconds)
    peak <- memory("VmHWM") - before
    one <- timed(function() for (i in seq_len(singles)) answer(given[i, , drop = FALSE]), 1, 0)
    say(list(wall = best[["wall"]], cpu = best[["cpu"]], peak = peak, nodes = nodes(model),
             one_row_us = one[["wall"]] / singles * 1e6))
} else {
    invisible(gc())
    before <- memory("VmRSS")
    model <- NULL
    best <- timed(function() model <<- fit(given, y[learn]), 1, 0)
    peak <- memory("VmHWM") - before
    said <- predict(model, x[held, ], num.threads = threads)$predictions
    invisible(gc())
    kept <- memory("VmRSS") - before
    path <- tempfile()
    saveRDS(model, path, compress = FALSE)
    say(list(wall = best[["wall"]], cpu = best[["cpu"]], peak = peak, nodes = nodes(model),
             quality = mean(said == y[held]), kept = kept, file = file.size(path) / 2^20))
}
