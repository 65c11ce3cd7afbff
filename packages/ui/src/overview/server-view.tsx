import "./overview.css";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { objectKey } from "@wirescope/channelz/timeline";
import { type Server, Transport } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import {
  Copy,
  duration,
  Empty,
  Loading,
  PropertyList,
  Sparkline,
  StateMark,
  Time,
  visibleLine,
  visibleText,
} from "../design/index.js";
import { Link, type ViewProps } from "../shell/routing/index.js";
import { ChangeList, ServerActions, serverState } from "../shell/server-actions/index.js";
import { callStatistics, shownServers, snapshot, watchCallStatistics } from "../shell/store/index.js";
import { AuthenticationText } from "./authentication.js";
import { percent, perSecond } from "./number-text.js";

const maxEvents = 12;
const maxEventLength = 1000;

const transports: Readonly<Record<Transport, string>> = {
  [Transport.UNSPECIFIED]: "unknown",
  [Transport.HTTP]: "Streamable HTTP",
  [Transport.SSE]: "HTTP with SSE",
  [Transport.WEBSOCKET]: "WebSocket",
  [Transport.STDIO]: "stdio, a process on the gateway's machine",
};

/** Everything about one server of the gateway. */
export function ServerView({ params }: ViewProps): VNode {
  useEffect(watchCallStatistics, []);
  const { name = "" } = params;
  if (shownServers.value === undefined) return <Loading what="server" />;
  const server = shownServers.value.find((each) => each.name === name);
  if (server === undefined) {
    return (
      <Empty title={`The gateway has no server “${name}”.`}>
        <Link to="/">Open the overview</Link>
      </Empty>
    );
  }
  const { tone, word, reason } = serverState(server);
  return (
    <div class="server-view">
      <h1>
        {visibleLine(name)}
        <StateMark tone={tone}>{word}</StateMark>
      </h1>
      {reason !== undefined && <p>{visibleText(server.failure?.message || reason)}</p>}
      <ServerActions server={server} isComplete />
      <PropertyList rows={rowsOf(server)} />
      <ChangedTools changes={server.toolChanges} />
      <ListProblems problems={server.listProblems} />
      <CallNumbers name={name} />
      <RecentEvents server={server} />
    </div>
  );
}

function rowsOf(server: Server): readonly (readonly [string, VNode | string | false | undefined])[] {
  const { oauth } = server.authentication ?? {};
  const { failure, toolCount, channelId, configuration, target } = server;
  return [
    ["Target", target !== "" && <Copy text={target} what="target" isShown />],
    ["Transport", transports[server.transport]],
    ["Authentication", <AuthenticationText key="authentication" server={server} />],
    ["Issuer", oauth?.issuer],
    ["Account", oauth?.account],
    ["Scopes", oauth?.scopes.join(", ")],
    ["Token", oauth?.obtainTime && <TokenText obtainedMs={timestampMs(oauth.obtainTime)} type={oauth.tokenType} />],
    ["Software", visibleLine([server.serverName, server.serverVersion].filter(Boolean).join(" "))],
    ["Protocol", server.protocolVersion],
    [
      "Tools",
      toolCount !== undefined && <Link to={`/tools/${encodeURIComponent(server.name)}`}>{String(toolCount)}</Link>,
    ],
    ["Channel", channelId > 0n && <Link to={`/object/channel/${channelId}`}>{`channel ${channelId}`}</Link>],
    ["Configuration", configuration !== "" && <Copy text={configuration} what="path" isShown />],
    ["Began to fail", failure?.beginTime && <Time ms={timestampMs(failure.beginTime)} />],
    ["Last error", failure?.time && <Time ms={timestampMs(failure.time)} />],
  ];
}

function ChangedTools({ changes }: { readonly changes: Server["toolChanges"] }): VNode | null {
  if (changes.length === 0) return null;
  return (
    <section>
      <h2>Tools that changed since the approval</h2>
      <ChangeList changes={changes} />
    </section>
  );
}

/** What is missing from the server's lists. */
function ListProblems({ problems }: { readonly problems: readonly string[] }): VNode | null {
  if (problems.length === 0) return null;
  return (
    <section>
      <h2>Omitted because of invalid values</h2>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{visibleLine(problem, maxEventLength)}</li>
        ))}
      </ul>
    </section>
  );
}

function TokenText({ obtainedMs, type }: { readonly obtainedMs: number; readonly type: string }): VNode {
  return (
    <span>
      {type}, obtained <Time ms={obtainedMs} />
    </span>
  );
}

function CallNumbers({ name }: { readonly name: string }): VNode | null {
  const calls = callStatistics.value?.servers.get(name);
  if (calls === undefined) return null;
  return (
    <section>
      <h2>Calls</h2>
      <PropertyList
        rows={[
          ["Rate", `${perSecond(calls.callsPerSecond)} per second`],
          ["Failed", percent(calls.failed, calls.calls)],
          ["Duration", calls.p95Ms !== undefined && `p50 ${duration(calls.p50Ms ?? 0)}, p95 ${duration(calls.p95Ms)}`],
          [
            "Last 5 min",
            <Sparkline
              key="chart"
              values={calls.points.map((point) => point.calls)}
              width={280}
              height={36}
              label={`Calls to ${visibleLine(name)} over the last 5 minutes`}
            />,
          ],
        ]}
      />
    </section>
  );
}

/** The newest events of the server's channel. */
function RecentEvents({ server }: { readonly server: Server }): VNode | null {
  const object = snapshot.value?.objects.get(objectKey("", "channel", server.channelId));
  const events = object?.kind === "channel" ? (object.message?.data?.trace?.events ?? []) : [];
  if (events.length === 0) return null;
  return (
    <section>
      <h2>Recent events</h2>
      <ol class="server-events">
        {events
          .slice(-maxEvents)
          .reverse()
          .map(({ timestamp, description }, index) => (
            <li key={`${timestamp?.seconds}.${timestamp?.nanos} ${index}`}>
              <Time ms={timestamp === undefined ? 0 : timestampMs(timestamp)} />
              <span>{visibleLine(description, maxEventLength)}</span>
            </li>
          ))}
      </ol>
    </section>
  );
}
