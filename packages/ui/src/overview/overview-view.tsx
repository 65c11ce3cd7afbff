import type { VNode } from "preact";
import { Loading } from "../design/index.js";
import type { ViewProps } from "../shell/routing/index.js";
import { recording, session } from "../shell/store/index.js";
import { GatewayOverview } from "./gateway-overview.js";
import { ProcessOverview } from "./process-overview.js";

/** The overview of a gateway or a process. */
export function OverviewView(_props: ViewProps): VNode {
  if (session.value === undefined) return <Loading what="overview" />;
  // A recording contains only objects.
  return session.value.kind === "gateway" && recording.value === undefined ? <GatewayOverview /> : <ProcessOverview />;
}
