#include "joining.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "core/common/src/owned_array.hpp"

namespace nb = nanobind;
using namespace gpualign;

namespace {

using Square = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

size_t checked(Square distances) {
  if (distances.shape(0) != distances.shape(1) || distances.shape(0) < 3)
    throw std::invalid_argument("distances must be a square matrix of at least three records");
  return distances.shape(0);
}

}  // namespace

NB_MODULE(_joining, m) {
  nb::set_leak_warnings(false);  // an error's traceback still holds objects when the process ends
  m.doc() = "Neighbour joining.";
  nb::class_<Joining>(m, "Joining", "Neighbour joining of float64[count][count] distances, symmetric and finite, count >= 3.")
      .def(
          "__init__", [](Joining* self, Square distances) { new (self) Joining(distances.data(), checked(distances)); },
          nb::arg("distances"))
      .def("join", &Joining::join, nb::arg("max_joins"), nb::call_guard<nb::gil_scoped_release>(),
           "Do at most `max_joins` joins. Returns the number of joins that remain; call it until that is 0.")
      .def(
          "parents", [](const Joining& self) { return owned_array(std::vector<int64_t>(self.parents()), {self.parents().size()}); },
          "Return int64[2 * count - 2]: the parent of each node, records first; -1 for the root.")
      .def(
          "lengths", [](const Joining& self) { return owned_array(std::vector<double>(self.lengths()), {self.lengths().size()}); },
          "Return float64[2 * count - 2]: the lengths of the branches to the parents; some may be negative.");
}
