import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import type { RpcService } from "../../gateway-observer.js";
import {
  CallService,
  type CallStatistics,
  CallStatisticsSchema,
  file_wirescope_v1_calls,
  GetCallResponseSchema,
  GetCallStatisticsResponseSchema,
  SetCaptureResponseSchema,
  StatisticsPointSchema,
} from "../../gen/wirescope/v1/calls_pb.js";
import type { CallLog } from "./call-log.js";
import { callToFullMessage, callToMessage, captureToMessage, durationOf } from "./call-message.js";
import { type Figures, intervalMs, type ServerFigures } from "./call-statistics.js";
import { defaultCaptureMs } from "./capture.js";
import { watchCalls } from "./watch-calls.js";

export interface CallServiceOptions {
  readonly log: CallLog;
  /** Redacts text about a server; undefined if it is about none. */
  readonly redact: (text: string, server: string | undefined, kind?: "own") => string;
  /** Throws unless a request has the administrator's token. */
  readonly assertAdministrator: (context: HandlerContext) => void;
}

const maxWatchers = 64;
const maxRecent = 2000;

/** Creates the RPC service for the call log of a gateway. */
export function createCallService({ log, redact, assertAdministrator }: CallServiceOptions): RpcService {
  const stopping = new AbortController();
  const messageOptions = { prefix: log.prefix, redact };
  const isAdministrator = (context: HandlerContext): boolean => {
    try {
      assertAdministrator(context);
      return true;
    } catch {
      return false;
    }
  };

  const routes = (router: ConnectRouter): void => {
    router.service(CallService, {
      watchCalls({ recent }, context) {
        if (log.watchers >= maxWatchers)
          throw new ConnectError(`The limit of ${maxWatchers} watchers is reached.`, Code.ResourceExhausted);
        const signal = AbortSignal.any([context.signal, stopping.signal]);
        const count = Math.min(recent || maxRecent, maxRecent);
        return watchCalls(log, count, (record) => callToMessage(record, messageOptions), signal);
      },
      getCall({ id }, context) {
        const record = log.find(id);
        if (record === undefined)
          throw new ConnectError(
            "This call is no longer kept, or another gateway handled it. The gateway keeps only the latest calls, in memory.",
            Code.NotFound,
          );
        const options = { ...messageOptions, isAdministrator: isAdministrator(context), idsOf: log.idsOf };
        return create(GetCallResponseSchema, { call: callToFullMessage(record, options) });
      },
      getCallStatistics({ endTime, points }) {
        const report = log.statistics.report(endTime && timestampMs(endTime), points);
        return create(GetCallStatisticsResponseSchema, {
          total: figuresToMessage(report.total, report.windowMs),
          servers: report.servers.map((one) => figuresToMessage(one, report.windowMs)),
          window: durationOf(Math.round(report.windowMs * 1000)),
          interval: durationOf(intervalMs * 1000),
          endTime: timestampFromMs(report.endMs),
        });
      },
      setCapture({ enabled, duration, discard }, context) {
        assertAdministrator(context);
        if (enabled && !log.capture.isAllowed)
          throw new ConnectError(
            "This gateway does not capture bodies. Start it with the option --capture.",
            Code.FailedPrecondition,
          );
        const requestedMs = duration === undefined ? defaultCaptureMs : durationMs(duration);
        if (enabled && !(requestedMs > 0)) throw new ConnectError("duration must be positive.", Code.InvalidArgument);
        log.capture.set(enabled ? requestedMs : 0);
        if (discard) log.capture.discard();
        return create(SetCaptureResponseSchema, { capture: captureToMessage(log.capture) });
      },
    });
  };

  return {
    files: [file_wirescope_v1_calls],
    routes,
    close: () => stopping.abort(new ConnectError("The gateway is shutting down.", Code.Unavailable)),
  };
}

function figuresToMessage(figures: ServerFigures, windowMs: number): CallStatistics {
  const { server, calls, failed, points } = figures;
  return create(CallStatisticsSchema, {
    server,
    calls: BigInt(calls),
    failed: BigInt(failed),
    callsPerSecond: (calls * 1000) / windowMs,
    failureRate: calls === 0 ? 0 : failed / calls,
    ...latenciesOf(figures),
    points: points.map((point) =>
      create(StatisticsPointSchema, { calls: point.calls, failed: point.failed, ...latenciesOf(point) }),
    ),
  });
}

function latenciesOf({ p50Ms, p95Ms }: Figures) {
  return {
    ...(p50Ms === undefined ? {} : { p50: durationOf(Math.round(p50Ms * 1000)) }),
    ...(p95Ms === undefined ? {} : { p95: durationOf(Math.round(p95Ms * 1000)) }),
  };
}
