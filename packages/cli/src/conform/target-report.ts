import type { ConformanceReport } from "@wirescope/channelz/conform";
import type { ChannelzError } from "@wirescope/channelz/internal";

/** The result for one target, or why it could not be examined. */
export type TargetReport = { readonly target: string } & (
  | { readonly report: ConformanceReport; readonly error?: undefined }
  | { readonly report?: undefined; readonly error: ChannelzError }
);
