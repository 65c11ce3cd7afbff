import type { Socket } from "node:net";
import { basename } from "node:path";
import type { SocketAddress, SocketInit } from "@wirescope/channelz";
import { parseUrl } from "@wirescope/channelz/internal";
import type { ChildProcessInfo, NetworkSocketInfo, SocketInfo } from "@wirescope/tool-server";
import { readEndpoints } from "../sockets/addresses.js";
import { describeSocket } from "../sockets/describe-socket.js";

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443" };

/** How a socket shows as a socket: with the addresses of both ends, and its details where somebody asks for them. */
export function socketInit(socketInfo: SocketInfo): SocketInit<Socket> {
  return socketInfo.kind === "socket" ? connectionSocket(socketInfo) : pipeSocket(socketInfo);
}

function connectionSocket({ socket, remoteName, transport }: NetworkSocketInfo): SocketInit<Socket> {
  return {
    name: remoteName,
    ...readEndpoints(socket),
    // What Node knows is the name of the proxy, if there is one.
    remoteName: isNamedIn(remoteName, transport.target) ? undefined : remoteName,
    subject: socket,
    describe: describeSocket,
  };
}

/** The pipes of a child have no addresses: their ends are two processes. */
function pipeSocket({ pid, command }: ChildProcessInfo): SocketInit<Socket> {
  const remote = processAddress(pid, command);
  return { name: remote.name, local: processAddress(process.pid, process.execPath), remote };
}

function processAddress(pid: number, file: string): Extract<SocketAddress, { readonly name: string }> {
  return { name: `pid ${pid} ${basename(file)}` };
}

/** Whether the target already says which host and port that is. */
function isNamedIn(remoteName: string, target: string): boolean {
  const url = parseUrl(target);
  if (url === undefined) return remoteName === target;
  const { protocol, host, hostname, port } = url;
  return remoteName === host || remoteName === `${hostname}:${port || defaultPorts[protocol]}`;
}
