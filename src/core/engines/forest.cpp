// The engine of forests, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/forest.hpp"

namespace treewise {

template class ForestEngine<TargetKind::binary>;
template class ForestEngine<TargetKind::multiclass>;
template class ForestEngine<TargetKind::regression>;

}  // namespace treewise
