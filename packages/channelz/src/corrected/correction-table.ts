import type { CorrectionId } from "../correction-marks.js";

/** A known deviation of peers that a corrected source undoes. */
export interface Correction {
  readonly id: CorrectionId;
  /** What the reader sees after the correction. */
  readonly title: string;
  /** The rules of docs/requirements/channelz.md that the peer violates. */
  readonly rules: readonly string[];
  /** The implementations in which it was observed. */
  readonly peers: string;
  /** What proves in the responses of this peer that it deviates. Without that proof nothing is changed. */
  readonly evidence: string;
}

/** Every correction that {@link correctSource} knows. */
export const corrections: readonly Correction[] = [
  {
    id: "unset-times",
    title: "a time that was never set is absent",
    rules: ["CZ-D-TIME-1"],
    peers: "grpc-go, grpc-java",
    evidence: "the time is earlier than HTTP/2 itself: year 1, 1970, or a counter in place of a time",
  },
  {
    id: "swapped-windows",
    title: "the local and the remote flow-control window are exchanged",
    rules: ["CZ-SOCKET-13", "CZ-SOCKET-14"],
    peers: "grpc-go, grpc-js",
    evidence: "the peer reports the window that our own connection granted to it as its remote window",
  },
  {
    id: "page-size",
    title: "a page has at most max_results items",
    rules: ["CZ-LIMIT-1"],
    peers: "grpc-java, C++, Python",
    evidence: "the page has more items than the request allowed",
  },
  {
    id: "missing-end",
    title: "an empty page is the last",
    rules: ["CZ-PAGE-4"],
    peers: "grpc-js",
    evidence: "the page is empty and does not set end",
  },
  {
    id: "not-found",
    title: "a lookup that failed is NOT_FOUND",
    rules: ["CZ-ERR-1", "CZ-D-ARG-4", "CZ-D-ARG-5"],
    peers: "C++",
    evidence: "the peer's own lists do not have the server, or have the id as another kind of object",
  },
  {
    id: "lost-cancels",
    title: "a stream that was cancelled counts as failed",
    rules: ["CZ-SOCKET-7"],
    peers: "grpc-js",
    evidence:
      "its ids show that it numbers each kind separately, and the channel of the socket has no call in progress, before and after the socket shows streams that did not end",
  },
  {
    id: "nested-channels",
    title: "an open channel that the trace names as a child is among the children",
    rules: ["CZ-CHANNEL-5"],
    peers: "C++",
    evidence: "the trace refers to a channel that exists, is not shut down, and is missing from channel_ref",
  },
];
