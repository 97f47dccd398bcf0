# Held-out errors of rpart or ctree on the splits of one table, as tree_accuracy.py asks for them.
#
#     Rscript trees.R TABLE.csv SPLITS.csv classes|numbers rpart|ctree
#
# SPLITS.csv has a column per split, 1 for training rows. Prints "split learner error leaves", one line per tree.

suppressPackageStartupMessages({library(rpart); library(partykit)})
words <- commandArgs(TRUE)
table <- read.csv(words[1], na.strings = "", check.names = FALSE)
splits <- read.csv(words[2])
classes <- words[3] == "classes"
is_text <- vapply(table, function(column) is.character(column) || is.logical(column), TRUE)
table[is_text] <- lapply(table[is_text], factor)
if (classes) table$y <- factor(table$y)

judge <- function(predicted, test, train) {
    if (classes) return(mean(is.na(predicted) | as.character(predicted) != as.character(test$y)))
    sqrt(mean((ifelse(is.na(predicted), mean(train$y), predicted) - test$y)^2))
}
report <- function(split, learner, error, leaves) {
    cat(split, learner, error, leaves, "\n")
    flush(stdout())
}

for (split in seq_along(splits)) {
    train <- droplevels(table[splits[[split]] == 1, ])
    test <- table[splits[[split]] == 0, ]
    for (name in setdiff(names(train), "y")) if (is.factor(train[[name]])) {
        test[[name]] <- factor(test[[name]], levels(train[[name]]))
    }
    set.seed(split)
    if (words[4] == "rpart") {
        full <- rpart(y ~ ., train, cp = 0, xval = 10, method = if (classes) "class" else "anova")
        cp <- full$cptable
        least <- which.min(cp[, "xerror"])
        within <- min(which(cp[, "xerror"] <= cp[least, "xerror"] + cp[least, "xstd"]))
        for (rule in c("min", "1-SE")) {
            tree <- prune(full, cp = cp[if (rule == "min") least else within, "CP"] * (1 + 1e-9))
            predicted <- predict(tree, test, type = if (classes) "class" else "vector")
            report(split, paste0("rpart_", rule), judge(predicted, test, train), sum(tree$frame$var == "<leaf>"))
        }
    } else {
        tree <- ctree(y ~ ., train)
        report(split, "ctree", judge(predict(tree, test), test, train), width(tree))
    }
}
