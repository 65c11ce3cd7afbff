import { formatAddress, printableText, securityName, timeOf } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { ComponentChildren, VNode } from "preact";
import { Copy, PropertyList, Section, Time } from "../design/index.js";
import { listenerAt, objectLabel, objectPath, otherEndOf, type SocketRole } from "../object-model/index.js";
import { Link } from "../shell/routing/index.js";
import { snapshot } from "../shell/store/index.js";
import { readTrace } from "./trace-entries.js";

type Row = readonly [name: string, value: ComponentChildren];

export interface SummaryProps {
  readonly object: SnapshotObject;
  readonly role: SocketRole | undefined;
  readonly isPanel: boolean;
}

/** The name, addresses and times of an object. */
export function Summary({ object, role, isPanel }: SummaryProps): VNode {
  const created = readTrace(object)?.createdMs;
  const process = originOf(object);
  const rows: readonly Row[] = [
    ["name", text(object.name)],
    ...(object.kind === "socket" ? socketRows(object, role, isPanel) : callRows(object)),
    ["created", created === undefined ? undefined : <Time ms={created} />],
    ["process", process],
  ];
  return (
    <Section title="Summary">
      <PropertyList rows={rows} />
    </Section>
  );
}

function callRows(object: Exclude<SnapshotObject, { kind: "socket" }>): Row[] {
  return [
    ["target", text(object.target ?? "")],
    ["last call", time(object.message?.data?.lastCallStartedTimestamp)],
  ];
}

function socketRows(
  object: Extract<SnapshotObject, { kind: "socket" }>,
  role: SocketRole | undefined,
  isPanel: boolean,
): Row[] {
  const { local, remote, remoteName, security, data } = object.message ?? {};
  const now = snapshot.value;
  const other = now === undefined ? undefined : otherEndOf(now, object);
  const listener = now === undefined || role !== "client" ? undefined : listenerAt(now, formatAddress(remote));
  const link = (to: SnapshotObject): VNode => (
    <Link to={objectPath(to)} inPanel={isPanel}>
      {objectLabel(to)}
    </Link>
  );
  if (role === "listen") return [["listens on", address(formatAddress(local))]];
  return [
    ["purpose", role === "server" ? "accepted from a client" : role === "client" ? "opened by a channel" : undefined],
    ["local", address(formatAddress(local))],
    ["remote", address(formatAddress(remote))],
    ["remote name", text(remoteName ?? "")],
    ["other end", other && link(other)],
    ["connected to", listener && link(listener)],
    [
      "security",
      security === undefined
        ? "none"
        : securityName(security) === "-"
          ? "none"
          : printableText(securityName(security), 120),
    ],
    ["last stream", time(data?.lastLocalStreamCreatedTimestamp) ?? time(data?.lastRemoteStreamCreatedTimestamp)],
    ["last sent", time(data?.lastMessageSentTimestamp)],
    ["last received", time(data?.lastMessageReceivedTimestamp)],
  ];
}

function time(timestamp: Parameters<typeof timeOf>[0]): VNode | undefined {
  const ms = timeOf(timestamp)?.getTime();
  return ms === undefined ? undefined : <Time ms={ms} />;
}

/** Text from a peer. */
function text(value: string): VNode | undefined {
  return value === "" ? undefined : <LongText text={printableText(value, 20_000)} />;
}

function address(value: string): VNode | string {
  return value === "-" ? "unknown" : <Copy text={value} what="address" isShown />;
}

const maxShort = 300;

/** Text that is collapsed if it is long. */
export function LongText({ text }: { readonly text: string }): VNode {
  if (text.length <= maxShort) return <span>{text}</span>;
  return (
    <details class="long-text">
      <summary>
        {text.slice(0, maxShort)}… <span class="soft">{text.length.toLocaleString("en")} characters</span>
      </summary>
      <p>{text}</p>
    </details>
  );
}

/** The process, if the page shows several. */
function originOf({ origin }: SnapshotObject): string | undefined {
  const origins = snapshot.value?.origins ?? [];
  if (origins.length < 2) return undefined;
  const found = origins.find(({ name }) => name === origin);
  return printableText([origin, found?.target].filter((each) => each).join(", "), 200);
}
