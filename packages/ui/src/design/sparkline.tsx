import "./sparkline.css";
import type { VNode } from "preact";

export interface SparklineProps {
  /** Oldest first. Undefined values leave a gap. */
  readonly values: readonly (number | undefined)[];
  /** What it shows, for screen readers. */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
  /** The value at the top. Default: the largest. */
  readonly max?: number;
}

/** A small line chart without axes, as wide as a table cell. */
export function Sparkline({ values, label, width = 96, height = 20, max }: SparklineProps): VNode {
  const top = max ?? Math.max(0, ...values.map((value) => value ?? 0));
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={label}
    >
      <path class="sparkline-base" d={`M0 ${height - 0.5}H${width}`} />
      {top > 0 && <path d={pathOf(values, width, height, top)} />}
    </svg>
  );
}

function pathOf(values: readonly (number | undefined)[], width: number, height: number, top: number): string {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  let path = "";
  let isGap = true;
  for (const [index, value] of values.entries()) {
    if (value !== undefined) {
      const x = (index * step).toFixed(1);
      const y = (height - 1.5 - (value / top) * (height - 3)).toFixed(1);
      path += `${isGap ? "M" : "L"}${x} ${y}`;
    }
    isGap = value === undefined;
  }
  return path;
}
