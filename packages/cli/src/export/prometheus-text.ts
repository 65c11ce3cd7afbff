import type { Metric } from "./channelz-metrics.js";

/** Metrics in the Prometheus text format. */
export function formatPrometheus(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels, value }) => `${name}${formatLabels(labels)} ${value}`),
  ]);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels)
    // An empty label is equivalent to no label.
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** The format has three escapes; other control characters from a peer would break a line or a terminal. */
function escapeValue(text: string): string {
  return text
    .replace(/\\/g, "\\\\")
    .replace(/"/g, '\\"')
    .replace(/\n/g, "\\n")
    .replace(/\p{Cc}/gu, "\ufffd");
}
