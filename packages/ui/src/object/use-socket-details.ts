import type { Socket } from "@wirescope/channelz/client";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import { useEffect, useState } from "preact/hooks";
import { connection, readSocket } from "../shell/store/index.js";

const intervalMs = 2_000;

export interface SocketDetails {
  /** The latest data: initially from the snapshot. */
  readonly socket: Socket | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** Reads a socket in full while it is shown: a snapshot has no options, because reading them costs the process more. */
export function useSocketDetails(
  { id, message }: Extract<SnapshotObject, { kind: "socket" }>,
  isLive: boolean,
): SocketDetails {
  const [details, setDetails] = useState<{ readonly socket?: Socket | undefined; readonly error?: unknown }>();
  const isReadable = isLive && connection.value === "live";
  useEffect(() => {
    if (!isReadable) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      if (document.visibilityState === "visible") {
        try {
          const socket = await readSocket(id, signal);
          if (!signal.aborted) setDetails({ socket });
        } catch (error) {
          // The previous data stays: the socket may be about to close.
          if (!signal.aborted) setDetails((before) => ({ ...before, error }));
        }
      }
      if (!signal.aborted) timer = setTimeout(() => void read(), intervalMs);
    };
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id, isReadable]);
  const socket = isLive ? (details?.socket ?? message) : message;
  return { socket, error: isLive ? details?.error : undefined, isLoading: isLive && details === undefined };
}
