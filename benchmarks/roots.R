# The root column that rpart and ctree choose on tables without signal, as selection.py asks for them.
#
#     Rscript roots.R TABLES ROWS LEVELS classes|numbers
#
# Prints "learner binary number category", the shares of the tables. ctree refuses to search the sets of more than 30
# levels: an error about that says that it has chosen the category.

suppressPackageStartupMessages({library(rpart); library(partykit)})
words <- commandArgs(TRUE)
tables <- as.integer(words[1]); n <- as.integer(words[2]); k <- as.integer(words[3])
columns <- c("binary", "number", "category")
roots <- list(rpart = character(), ctree = character())
set.seed(n + k)
for (i in seq_len(tables)) {
    data <- data.frame(binary = factor(sample(c("a", "b"), n, TRUE)), number = rnorm(n),
                       category = factor(sample(paste0("l", seq_len(k)), n, TRUE)),
                       y = if (words[4] == "classes") factor(sample(c("p", "q"), n, TRUE)) else rnorm(n))
    tree <- rpart(y ~ ., data, cp = -1, maxdepth = 1, xval = 0, minsplit = 2, minbucket = 1)
    roots$rpart <- c(roots$rpart, as.character(tree$frame$var[1]))
    root <- tryCatch({
        tree <- ctree(y ~ ., data, control = ctree_control(mincriterion = 0, maxdepth = 1))
        columns[tree[[1]]$node$split$varid - 1]
    }, error = function(e) if (grepl("levels", conditionMessage(e))) "category" else stop(e))
    roots$ctree <- c(roots$ctree, root)
}
for (name in names(roots)) cat(name, vapply(columns, function(column) mean(roots[[name]] == column), 0), "\n")
