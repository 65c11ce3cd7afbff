import { Code, ConnectError } from "@connectrpc/connect";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import { ChannelzError } from "../errors.js";
import { isForeignRefusal } from "./foreign-response.js";
import { channelzAdvice } from "./peer-error.js";

/** Detects once under which package a peer serves Channelz. */
export interface PackageFinder {
  /** The package of the peer. Concurrent callers share one search; a search that failed is not remembered. */
  find(): Promise<ChannelzPackage>;
  /** Searches again at the next call, because the peer no longer serves that package. */
  forget(): void;
}

// A peer counts a probe for a package that it does not serve as a failed call. All public implementations, and ours, serve
// grpc.channelz.v1; only a peer that serves rpc.channelz.v1 alone counts one.
const probeOrder: readonly ChannelzPackage[] = ["grpc.channelz.v1", "rpc.channelz.v1"];

/**
 * A finder that tries each package in turn with `probe`, which rejects with UNIMPLEMENTED if the peer does not serve it
 * (every Connect protocol maps HTTP status 404 to that code).
 */
export function createPackageFinder(
  probe: (channelzPackage: ChannelzPackage) => Promise<unknown>,
  peer: string | undefined,
): PackageFinder {
  let search: Promise<ChannelzPackage> | undefined;

  async function tryEach(): Promise<ChannelzPackage> {
    let refusal: unknown;
    for (const candidate of probeOrder) {
      try {
        await probe(candidate);
        return candidate;
      } catch (reason) {
        if (!isNotServed(reason)) throw reason;
        refusal = reason;
      }
    }
    throw new ChannelzError(
      "PEER_WITHOUT_CHANNELZ",
      {
        subject: peer ?? "The peer",
        problem: `responds, but serves Channelz neither as ${channelzPackages.join(" nor as ")}.`,
        advice: channelzAdvice,
      },
      { cause: refusal },
    );
  }

  return {
    find() {
      if (search === undefined) {
        const started = tryEach();
        search = started;
        started.catch(() => {
          if (search === started) search = undefined;
        });
      }
      return search;
    },
    forget() {
      search = undefined;
    },
  };
}

function isNotServed(reason: unknown): boolean {
  return reason instanceof ConnectError && (reason.code === Code.Unimplemented || isForeignRefusal(reason));
}
