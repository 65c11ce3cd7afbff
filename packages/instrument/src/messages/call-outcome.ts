import type { BodyShape } from "./body-shape.js";

/** How a call ended whose response is complete. */
export interface CallEnd {
  readonly shape: BodyShape;
  readonly httpStatus: number | undefined;
  /** `grpc-status`, from the trailers or, in a trailers-only response, the headers. */
  readonly grpcStatus: unknown;
  /** The content of the status envelope. */
  readonly envelopeStatus: string | undefined;
}

/** Whether a call ended with an OK status, as its protocol reports it. */
export function isOk({ shape, httpStatus, grpcStatus, envelopeStatus }: CallEnd): boolean {
  if (httpStatus === undefined || httpStatus >= 400) return false;
  switch (shape) {
    case "grpc":
      return String(grpcStatus) === "0";
    case "grpc-web":
      return String(grpcStatus ?? statusLine(envelopeStatus)) === "0";
    case "connect-stream":
      return envelopeStatus !== undefined && !hasError(envelopeStatus);
    case "unary":
    case "whole":
      return true;
    case "none":
      return false;
  }
}

function statusLine(envelopeStatus: string | undefined): string | undefined {
  return envelopeStatus === undefined ? undefined : /^grpc-status:\s*(\d+)/im.exec(envelopeStatus)?.[1];
}

function hasError(envelopeStatus: string): boolean {
  try {
    const end: unknown = JSON.parse(envelopeStatus);
    return typeof end !== "object" || end === null || ("error" in end && end.error != null);
  } catch {
    return true;
  }
}

/** Counts calls: a channel or subchannel of a client, or a server. */
export interface CallCounters {
  callStarted(): void;
  callSucceeded(): void;
  callFailed(): void;
}

export function countOutcome(counters: CallCounters, isSuccess: boolean): void {
  if (isSuccess) counters.callSucceeded();
  else counters.callFailed();
}
