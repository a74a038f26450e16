/* The figures of sink/metrics.h as text of OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/): for each family its TYPE, UNIT and HELP, then its samples,
 * and "# EOF" at the end, without the newline behind it that is free, for a shell adds its own. Only counters and
 * gauges, which the older text format has too: node_exporter reads its files as that. Units are seconds and bytes.
 * Labels are UTF-8: a byte of a name that is not becomes "\x" and two hexadecimal digits. */
#ifndef TIDE_SINK_OPENMETRICS_H
#define TIDE_SINK_OPENMETRICS_H

#include "base/buf.h"
#include "sink/metrics.h"

/* version: Tidemark's. */
void tide_openmetrics_put(const struct tide_metrics *metrics, const char *version, struct tide_buf *out,
                          struct tide_err *err);

#endif
