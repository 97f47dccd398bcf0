  # How rows are read and walk the trees: the same in every script that treewise exports.
  whole <- function(x) { # high and low digits apart, because a double holds 15
    absent <- is.na(x)
    if (is.numeric(x) && !inherits(x, "integer64")) x <- sprintf("%.0f", x)
    x <- as.character(x)
    x[absent] <- "0"
    sign <- ifelse(startsWith(x, "-"), -1, 1)
    digits <- sub("^-", "", x)
    split <- pmax(nchar(digits) - 9, 0)
    low <- sign * as.numeric(substring(digits, split + 1))
    high <- sign * as.numeric(paste0("0", substr(digits, 1, split)))
    high[absent] <- NA
    list(high, low)
  }
  ticks <- function(x, per_day) {
    if (inherits(x, "Date")) us <- floor(as.numeric(x)) * 86400e6
    else if (inherits(x, "POSIXt")) us <- round(as.numeric(as.POSIXct(x)) * 1e6)
    else return(whole(x))
    if (per_day <= 86400e6) return(whole(floor(us / (86400e6 / per_day))))
    whole(ifelse(is.na(us), NA, sprintf("%.0f000", us)))
  }
  read <- function(column, data) {
    at <- match(column$name, names(data))
    if (is.na(at)) stop("there is no column ", column$name)
    x <- data[[at]]
    switch(column$kind,
      number = list(as.numeric(x), 0),
      integer = whole(x),
      datetime = ticks(x, column$per_day),
      boolean = list(match(as.logical(x), c(FALSE, TRUE)), 0),
      list(ifelse(is.na(x), NA, match(as.character(x), column$levels, nomatch = 0)), 0)
    )
  }
  walk <- function(tree, high, low) { # all rows together, one test at a time
    at <- rep(1L, nrow(high))
    rows <- which(tree$column[at] > 0)
    while (length(rows) > 0) {
      step <- at[rows]
      cell <- cbind(rows, tree$column[step])
      value <- high[cell]
      cut <- tree$cut[step]
      below <- value < cut | (value == cut & low[cell] <= tree$low[step])
      place <- value - tree$first[step]
      named <- which(tree$size[step] > 0 & place >= 0 & place < tree$size[step])
      to <- ifelse(below, tree$below[step], tree$above[step])
      to[named] <- tree$ways[tree$start[step[named]] + place[named]]
      to[is.na(value)] <- tree$missing[step[is.na(value)]]
      at[rows] <- to
      rows <- rows[tree$column[to] > 0]
    }
    tree$below[at]
  }
  predict_rows <- function(data, type) {
    n <- nrow(data)
    high <- low <- matrix(0, n, length(columns))
    for (j in seq_along(columns)) {
      cells <- read(columns[[j]], data)
      high[, j] <- cells[[1]]
      low[, j] <- cells[[2]]
    }
    answers <- lapply(trees, walk, high, low)
    if (type == "leaf") {
      leaves <- do.call(cbind, Map(function(tree, answer) tree$node[answer], trees, answers))
      leaves[rowSums(is.na(leaves)) > 0, ] <- NA
      return(if (length(trees) == 1 && combine == "tree") leaves[, 1] else leaves)
    }
    total <- 0
    for (t in seq_along(trees)) total <- total + trees[[t]]$shares[answers[[t]], , drop = FALSE]
    if (is.null(classes)) {
      if (type == "probabilities") stop("numbers are predicted, which have no probabilities")
      return((total[, 1] / divisor) * unit)
    }
    all <- 0
    if (combine == "vote") for (k in seq_along(classes)) all <- all + total[, k]
    shares <- if (combine == "vote") total / ifelse(all > 0, all, 1) else total / divisor
    colnames(shares) <- classes
    if (type == "probabilities") return(shares)
    if (combine == "tree") return(classes[trees[[1]]$label[answers[[1]]]])
    scores <- if (combine == "vote") total else shares
    best <- rep(1L, n)
    for (k in seq_along(classes)) best[which(scores[, k] > scores[cbind(seq_len(n), best)])] <- k
    best[is.na(scores[, 1])] <- NA
    classes[best]
  }
  structure(list(classes = classes, predict = predict_rows), class = "treewise_model")
})

predict.treewise_model <- function(object, newdata, type = c("prediction", "probabilities", "leaf"), ...) {
  object$predict(newdata, match.arg(type))
}
