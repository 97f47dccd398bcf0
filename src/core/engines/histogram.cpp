// Explicit instantiation in a file of its own, so that the engines compile in parallel.

#include "engines/histogram.hpp"

namespace treewise {

template class HistogramEngine<TargetKind::binary>;
template class HistogramEngine<TargetKind::multiclass>;
template class HistogramEngine<TargetKind::regression>;

}  // namespace treewise
