import type { Snapshot, SnapshotObject } from "@wirescope/channelz/timeline";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Certificate, readCertificate } from "../object-model/index.js";
import { chosenTime, connection, readSocket } from "../shell/store/index.js";
import { certificateSockets } from "./certificate-sockets.js";

/** A certificate that a connection uses, and one of the sockets that use it. */
export interface UsedCertificate {
  readonly certificate: Certificate;
  readonly socket: SnapshotObject;
  /** Whether it belongs to the process or its peer. */
  readonly side: "own" | "remote";
}

const intervalMs = 30_000;

/** Reads the certificates of a process while the view is shown, twice a minute: snapshots do not have them. In the order of their expiry. */
export function useCertificates(now: Snapshot | undefined): readonly UsedCertificate[] {
  const [found, setFound] = useState<readonly UsedCertificate[]>([]);
  const latest = useRef(now);
  latest.current = now;
  const isLive = chosenTime.value === undefined;
  const isReadable = isLive && now !== undefined && connection.value === "live";
  useEffect(() => {
    if (!isReadable) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const read = async (): Promise<void> => {
      const sockets = latest.current === undefined ? [] : certificateSockets(latest.current);
      const used = await readCertificates(sockets, signal);
      if (!signal.aborted) setFound(used);
    };
    void read();
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void read();
    }, intervalMs);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [isReadable]);
  return isLive ? found : [];
}

async function readCertificates(
  sockets: readonly SnapshotObject[],
  signal: AbortSignal,
): Promise<readonly UsedCertificate[]> {
  const used = new Map<string, UsedCertificate>();
  for (const socket of sockets) {
    // A socket that closed in the meantime has none.
    const details = await readSocket(socket.id, signal).catch(() => undefined);
    const model = details?.security?.model;
    if (signal.aborted || model?.case !== "tls") continue;
    const sides = [
      ["own", model.value.localCertificate],
      ["remote", model.value.remoteCertificate],
    ] as const;
    for (const [side, bytes] of sides) {
      const certificate = await readCertificate(bytes);
      if (certificate !== undefined) {
        used.set(`${side} ${certificate.issuer} ${certificate.serial}`, { certificate, socket, side });
      }
    }
  }
  return [...used.values()].sort((a, b) => a.certificate.notAfterMs - b.certificate.notAfterMs);
}
