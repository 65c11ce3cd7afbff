import type { Socket } from "node:net";
import { basename } from "node:path";
import type { SocketAddress, SocketHandle, SocketInit } from "@wirescope/channelz";
import { parseUrl } from "@wirescope/channelz/internal";
import type { ChildProcessInfo, NetworkSocketInfo, SocketInfo } from "@wirescope/tool-server";
import { readEndpoints } from "../sockets/addresses.js";
import { describeSocket } from "../sockets/describe-socket.js";
import type { ObservedCalls } from "./observed-calls.js";

/** A tool server socket, in the registry. */
export class ObservedSocket {
  readonly handle: SocketHandle;
  readonly #parent: ObservedCalls;
  #inFlight = 0;

  constructor(handle: SocketHandle, parent: ObservedCalls) {
    this.handle = handle;
    this.#parent = parent;
    parent.add(this);
  }

  get isClosed(): boolean {
    return this.handle.isClosed;
  }

  streamStarted(): void {
    this.#inFlight += 1;
    this.handle.localStreamStarted();
  }

  streamSucceeded(): void {
    if (this.#streamEnded()) this.handle.streamSucceeded();
  }

  streamFailed(): void {
    if (this.#streamEnded()) this.handle.streamFailed();
  }

  end(reason: string): void {
    if (this.isClosed) return;
    this.close(reason);
    this.#parent.childClosed();
  }

  close(reason: string): void {
    this.handle.close(reason);
  }

  /** Whether to count the end of a stream. A stream that started before the observation is counted as started now. */
  #streamEnded(): boolean {
    if (this.#inFlight > 0) this.#inFlight -= 1;
    else if (this.isClosed) return false;
    else this.handle.localStreamStarted();
    return true;
  }
}

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443" };

/** How a socket or child process appears in the registry. */
export function socketInit(socketInfo: SocketInfo): SocketInit<Socket> {
  return socketInfo.kind === "socket" ? connectionSocket(socketInfo) : pipeSocket(socketInfo);
}

function connectionSocket({ socket, remoteName, transport }: NetworkSocketInfo): SocketInit<Socket> {
  return {
    name: remoteName,
    ...readEndpoints(socket),
    // Through a proxy, Node knows only the name of the proxy.
    remoteName: isNamedIn(remoteName, transport.target) ? undefined : remoteName,
    subject: socket,
    describe: describeSocket,
  };
}

/** The pipes of a child process have no addresses, so the processes are shown instead. */
function pipeSocket({ pid, command }: ChildProcessInfo): SocketInit<Socket> {
  const remote = processAddress(pid, command);
  return { name: remote.name, local: processAddress(process.pid, process.execPath), remote };
}

function processAddress(pid: number, file: string): Extract<SocketAddress, { readonly name: string }> {
  return { name: `pid ${pid} ${basename(file)}` };
}

/** Whether the target already contains this host and port. */
function isNamedIn(remoteName: string, target: string): boolean {
  const url = parseUrl(target);
  if (url === undefined) return remoteName === target;
  const { protocol, host, hostname, port } = url;
  return remoteName === host || remoteName === `${hostname}:${port || defaultPorts[protocol]}`;
}
