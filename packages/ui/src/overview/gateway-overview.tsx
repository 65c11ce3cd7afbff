import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { duration, Loading } from "../design/index.js";
import { callStatistics, reloadFailure, shownServers, watchCallStatistics } from "../shell/store/index.js";
import { Attention } from "./attention.js";
import { Figures } from "./figures.js";
import { percent, perSecond } from "./number-text.js";
import { readyCount, ServerTable } from "./server-table.js";

/** The servers of a gateway: how many are connected, which need attention, and the state of each. */
export function GatewayOverview(): VNode {
  useEffect(watchCallStatistics, []);
  const all = shownServers.value;
  if (all === undefined) return <Loading what="servers" />;
  const total = callStatistics.value?.total;
  return (
    <div class="page">
      <h1 class="visually-hidden">Overview</h1>
      <Figures
        figures={[
          { name: "servers connected", value: readyCount(all), unit: `of ${all.length}` },
          { name: "calls per second", value: perSecond(total?.callsPerSecond) },
          { name: "failed", value: percent(total?.failed, total?.calls) },
          { name: "p50", value: total?.p50Ms === undefined ? "–" : duration(total.p50Ms) },
          { name: "p95", value: total?.p95Ms === undefined ? "–" : duration(total.p95Ms) },
        ]}
      />
      <Attention servers={all} reloadFailure={reloadFailure.value} />
      <ServerTable servers={all} />
    </div>
  );
}
