import { ConnectivityState, type Server } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import {
  type Column,
  Copy,
  duration,
  Empty,
  Section,
  Sparkline,
  StateMark,
  Table,
  visibleLine,
} from "../design/index.js";
import { address, openPanel, tableQuery } from "../shell/routing/index.js";
import { authenticationText, serverState } from "../shell/server-actions/index.js";
import { callStatistics, type ServerStatistics } from "../shell/store/index.js";
import { AuthenticationText } from "./authentication.js";
import { percent, perSecond } from "./number-text.js";

interface Row {
  readonly server: Server;
  readonly calls: ServerStatistics | undefined;
}

const columns: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Server",
    render: ({ server }) => (
      <span class="server-name" title={visibleLine(server.name)}>
        {visibleLine(server.name)}
      </span>
    ),
    sortValue: ({ server }) => server.name,
  },
  {
    key: "status",
    title: "Status",
    render: ({ server }) => {
      const { tone, word } = serverState(server);
      return <StateMark tone={tone}>{word}</StateMark>;
    },
    sortValue: ({ server }) => serverState(server).word,
  },
  {
    key: "authentication",
    title: "Authentication",
    render: ({ server }) => <AuthenticationText server={server} />,
    sortValue: ({ server }) => authenticationText(server),
    isWide: true,
    priority: 2,
  },
  {
    key: "tools",
    title: "Tools",
    render: ({ server }) => server.toolCount ?? "–",
    sortValue: ({ server }) => server.toolCount,
    isNumber: true,
    priority: 2,
  },
  {
    key: "rate",
    title: "Calls/s",
    render: ({ calls }) => perSecond(calls?.callsPerSecond),
    sortValue: ({ calls }) => calls?.callsPerSecond,
    isNumber: true,
  },
  {
    key: "failed",
    title: "Failed",
    render: ({ calls }) => (
      <span class={(calls?.failed ?? 0) > 0 ? "tone-failing" : undefined}>{percent(calls?.failed, calls?.calls)}</span>
    ),
    sortValue: ({ calls }) => (calls === undefined || calls.calls === 0 ? undefined : calls.failureRate),
    isNumber: true,
    priority: 2,
  },
  {
    key: "p50",
    title: "p50",
    render: ({ calls }) => (calls?.p50Ms === undefined ? "–" : duration(calls.p50Ms)),
    sortValue: ({ calls }) => calls?.p50Ms,
    isNumber: true,
    priority: 3,
  },
  {
    key: "p95",
    title: "p95",
    render: ({ calls }) => (calls?.p95Ms === undefined ? "–" : duration(calls.p95Ms)),
    sortValue: ({ calls }) => calls?.p95Ms,
    isNumber: true,
    priority: 2,
  },
  {
    key: "chart",
    title: "Last 5 min",
    render: ({ server, calls }) => (
      <Sparkline
        values={calls?.points.map((point) => point.calls) ?? []}
        label={`Calls to ${visibleLine(server.name)} over the last 5 minutes`}
      />
    ),
    priority: 3,
  },
];

const keyOf = ({ server }: Row): string => server.name;
const searchText = ({ server }: Row): string => {
  return `${server.name} ${server.target} ${serverState(server).word} ${authenticationText(server)}`;
};

/** One row for each server of the gateway. */
export function ServerTable({ servers }: { readonly servers: readonly Server[] }): VNode {
  const statistics = callStatistics.value;
  const rows = useMemo(
    () => servers.map((server) => ({ server, calls: statistics?.servers.get(server.name) })),
    [servers, statistics],
  );
  const selected = /^\/servers\/([^/?]+)/.exec(address.value.panel ?? "")?.[1];
  return (
    <Section title="Servers" isFlush>
      <Table
        what="servers"
        {...tableQuery()}
        columns={columns}
        rows={rows}
        keyOf={keyOf}
        {...(servers.length > 8 && { searchText })}
        onOpen={({ server }) => openPanel(`/servers/${encodeURIComponent(server.name)}`)}
        selectedKey={selected === undefined ? undefined : decodeURIComponent(selected)}
        empty={
          <Empty title="The gateway has no servers.">
            <p>Add one to the configuration, and the gateway connects to it at once:</p>
            <Copy text="wirescope add <name> <url>" what="command" isShown />
          </Empty>
        }
      />
    </Section>
  );
}

export function readyCount(servers: readonly Server[]): number {
  return servers.filter(({ state }) => state === ConnectivityState.READY).length;
}
