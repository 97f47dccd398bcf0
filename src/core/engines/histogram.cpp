// The engine of large nodes, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/histogram.hpp"

namespace treewise {

template class HistogramEngine<TargetKind::binary>;
template class HistogramEngine<TargetKind::multiclass>;
template class HistogramEngine<TargetKind::regression>;

}  // namespace treewise
