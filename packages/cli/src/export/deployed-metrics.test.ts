import { readFileSync } from "node:fs";
import { createSnapshot } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { createChannelzMetrics } from "./channelz-metrics.js";

const metrics = createChannelzMetrics(1);
metrics.observe(createSnapshot({ timeMs: 0, origins: [{ name: "a", target: "t" }], objects: [] }), 0);
const names = new Set(metrics.read().map(({ name }) => name));
// Prometheus itself adds `instance` and `job`.
const labels = new Set(["process", "kind", "name", "state", "instance", "job"]);

test.each(["alerts.yaml", "dashboard.json"])(
  "[CZ-D-EXPORT-4] deploy/metrics/%s uses only metrics and labels that are exported",
  (file) => {
    const text = readFileSync(new URL(`../../../../deploy/metrics/${file}`, import.meta.url), "utf8");
    const used = new Set(text.match(/channelz_\w+/g));
    expect(used.size).toBeGreaterThan(3);
    expect([...used].filter((name) => !names.has(name))).toEqual([]);
    const selected = [...text.matchAll(/channelz_\w+\{([^}]*)\}/g)].flatMap(([, list = ""]) =>
      [...list.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label),
    );
    const grouped = [...text.matchAll(/\b(?:by|without|on|ignoring) ?\(([^)]*)\)/g)].flatMap(([, list = ""]) =>
      list.split(/,\s*/),
    );
    const usedLabels = [...selected, ...grouped].filter((label) => label !== undefined && label !== "");
    expect(usedLabels.length).toBeGreaterThan(0);
    expect(usedLabels.filter((label) => !labels.has(label ?? ""))).toEqual([]);
  },
);
