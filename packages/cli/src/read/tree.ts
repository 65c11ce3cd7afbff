import type { JsonObject } from "@bufbuild/protobuf";
import { type OriginSource, readTree, type Tree, type TreeNode } from "@wirescope/channelz";
import { ChannelSchema, ServerSchema, SocketSchema, SubchannelSchema } from "@wirescope/channelz/client";
import { formatAddress, printableText, stateName } from "@wirescope/channelz/internal/text";
import { formatJson } from "../output/json.js";
import { messageToJson } from "../output/message-json.js";
import type { Screen } from "../output/screen.js";
import { statePaint } from "../output/state.js";
import { displayWidth, truncateToWidth } from "../output/text-layout.js";
import { assertAllRespond, assertComplete, parseMaxObjects, type ReadTask, readTargets } from "./read-task.js";

/** The values of `tree`. */
export interface TreeValues {
  readonly json: boolean;
  readonly "max-objects": string | undefined;
}

/** Draws the channels of each target with their descendants, and its servers with their sockets. */
export async function readWholeTree(task: ReadTask<TreeValues>): Promise<void> {
  const { screen, values } = task;
  const maxObjects = parseMaxObjects(values);
  const gathered = await readTargets(task, (source, signal) => readTree(source, { signal, maxObjects }));
  const isMany = gathered.length > 1;
  if (values.json) {
    const trees = gathered.map(({ origin, value, error }) => ({
      ...(isMany ? { origin: origin.origin, target: origin.target } : {}),
      ...(value === undefined ? { error: error?.message ?? "" } : treeToJson(value)),
    }));
    screen.print(formatJson(isMany ? trees : (trees[0] ?? {})));
  } else {
    for (const { origin, value, error } of gathered) {
      if (isMany) screen.print(screen.palette.strong(printableText(originTitle(origin))));
      if (value === undefined) screen.print(screen.palette.bad(`  ${printableText(error?.message ?? "", 1000)}`));
      else {
        draw("channels", value.channels, screen);
        draw("servers", value.servers, screen);
      }
    }
  }
  assertComplete(gathered.find(({ value }) => value?.stoppedBy !== undefined)?.value?.stoppedBy);
  assertAllRespond(gathered);
}

/** The name of a target, with its address if that differs. */
function originTitle({ origin, target }: OriginSource): string {
  return origin === target ? target : `${origin} (${target})`;
}

function treeToJson({ channels, servers, isComplete, stoppedBy }: Tree): JsonObject {
  return {
    channels: channels.map(nodeToJson),
    servers: servers.map(nodeToJson),
    isComplete,
    ...(stoppedBy === undefined ? {} : { stoppedBy: stoppedBy.message }),
  };
}

function draw(title: string, nodes: readonly TreeNode[], screen: Screen): void {
  screen.print(screen.palette.strong(nodes.length === 0 ? `no ${title}` : title));
  drawNodes(nodes, "", screen);
}

function drawNodes(nodes: readonly TreeNode[], indent: string, screen: Screen): void {
  nodes.forEach((node, index) => {
    const isLast = index === nodes.length - 1;
    screen.print(drawLine(`${indent}${isLast ? "└─ " : "├─ "}`, label(node, screen), screen));
    drawNodes(node.children, `${indent}${isLast ? "   " : "│  "}`, screen);
  });
}

/** A peer may send megabytes as a name. */
const maxTextLength = 10_000;

type Part = readonly [text: string, paint?: (text: string) => string];

function drawLine(lead: string, parts: readonly Part[], { palette, width }: Screen): string {
  let room = width === undefined ? Number.POSITIVE_INFINITY : width - lead.length;
  const shown = parts.map(([text, paint], index) => {
    const gap = index === 0 ? "" : "  ";
    const kept = truncateToWidth(gap + printableText(text, maxTextLength), room);
    room -= displayWidth(kept);
    return paint?.(kept) ?? kept;
  });
  return palette.faint(lead) + shown.join("");
}

function label(node: TreeNode, { palette }: Screen): Part[] {
  const head: Part = [`${node.kind} ${node.id}`, palette.strong];
  if (node.cut !== undefined) return [head, [node.name], [cutTexts[node.cut], palette.faint]];
  if (node.unreadable !== undefined && node.object === undefined) {
    return [head, [node.name || "-"], [`unreadable: ${node.unreadable.message}`, palette.bad]];
  }
  switch (node.kind) {
    case "channel":
    case "subchannel": {
      const data = node.object?.data;
      const isNamed = node.name !== "" && node.name !== data?.target;
      return [
        head,
        [stateName(data), statePaint(data, palette)],
        [data?.target || "-"],
        ...(isNamed ? [[node.name] as const] : []),
        [calls(data?.callsStarted, data?.callsFailed), data?.callsFailed ? palette.bad : palette.faint],
      ];
    }
    case "server": {
      const data = node.object?.data;
      return [
        head,
        [node.name || "-"],
        [calls(data?.callsStarted, data?.callsFailed), data?.callsFailed ? palette.bad : palette.faint],
        ...(node.unreadable === undefined
          ? []
          : [[`connections unreadable: ${node.unreadable.message}`, palette.bad] as const]),
      ];
    }
    case "socket": {
      const { object, role } = node;
      if (object === undefined) return [head, [node.name || "-"]];
      const local = formatAddress(object.local);
      if (role === "listen") return [head, [`listens on ${local === "-" ? node.name || "-" : local}`]];
      // grpc-js reports no address for a Unix socket, only a name.
      const isBare = object.local === undefined && object.remote === undefined;
      const started = object.data?.streamsStarted ?? 0n;
      return [
        head,
        [isBare ? node.name || "-" : `${local} ${role === "server" ? "←" : "→"} ${formatAddress(object.remote)}`],
        [`${started} ${started === 1n ? "stream" : "streams"}`, palette.faint],
      ];
    }
  }
}

const cutTexts: Readonly<Record<NonNullable<TreeNode["cut"]>, string>> = {
  repeated: "(shown elsewhere)",
  depth: "(too deep to follow)",
  limit: "(not read)",
};

function calls(started = 0n, failed = 0n): string {
  return `${started} ${started === 1n ? "call" : "calls"}${failed > 0n ? `, ${failed} failed` : ""}`;
}

function nodeToJson(node: TreeNode): JsonObject {
  return {
    kind: node.kind,
    ...(node.kind === "socket" ? { role: node.role } : {}),
    ...objectToJson(node),
    ...(node.cut === undefined ? {} : { cut: node.cut }),
    ...(node.unreadable === undefined ? {} : { unreadable: node.unreadable.message }),
    ...(node.kind === "socket" ? {} : { children: node.children.map(nodeToJson) }),
  };
}

function objectToJson(node: TreeNode): JsonObject {
  if (node.object === undefined) return { ref: { [`${node.kind}Id`]: String(node.id), name: node.name } };
  switch (node.kind) {
    case "channel":
      return messageToJson(ChannelSchema, node.object);
    case "subchannel":
      return messageToJson(SubchannelSchema, node.object);
    case "server":
      return messageToJson(ServerSchema, node.object);
    case "socket":
      return messageToJson(SocketSchema, node.object);
  }
}
