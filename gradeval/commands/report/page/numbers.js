"use strict";

const byId = (id) => document.getElementById(id);

// What is shown, and the data it is drawn from; readExplanations() adds the rest. They are described in data.py.
const data = JSON.parse(byId("data").textContent);
const queries = split(data.queries);
const runs = split(data.runs);
const numbers = new Float64Array(bytesOf(data.values).buffer);
data.values = runs.map((_, run) => data.metrics.map((_, m) => {
  const first = (run * data.metrics.length + m) * queries.length;
  return Array.from(numbers.subarray(first, first + queries.length), (value) => (Number.isNaN(value) ? null : value));
}));

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function readExplanations() {
  const stream = new Blob([bytesOf(byId("explanations").textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
  Object.assign(data, await new Response(stream).json());
}

function split(text) {
  return text === "" ? [] : text.split("\t");
}

// As Python rounds: a number in the middle goes to the even digit.
function fixed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  const exact = Math.abs(value).toFixed(100);
  const point = exact.indexOf(".");
  const isInTheMiddle = /^50*$/.test(exact.slice(point + 1 + digits));
  if (!isInTheMiddle || /[02468]$/.test(text)) return text;
  return exact.slice(0, digits ? point + 1 + digits : point);
}

function isZero(text) {
  return !/[1-9]/.test(text);
}

function number(value) {
  if (value === null) return "-";
  if (data.digits === "full") return Number.isInteger(value) ? `${value}.0` : String(value);
  const text = fixed(value, data.digits);
  return value < 0 && !isZero(text) ? `-${text}` : text;
}

function signed(value) {
  const text = number(value);
  return value > 0 && !isZero(text) ? `+${text}` : text;
}

function element(name, content = [], attributes = {}) {
  return filled(document.createElement(name), content, attributes);
}

function drawing(name, attributes, content = []) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), content, attributes);
}

function filled(made, content, attributes) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[content].flat());
  return made;
}

function round(value) {
  return Math.round(value * 100) / 100;
}

// The lowest and the highest of some values that are defined, and 0.
function rangeOf(values) {
  let [low, high] = [0, 0];
  for (const value of values) {
    if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return [low, high];
}

function tickText(value) {
  return String(Number(value.toPrecision(4))).replace("-", "\u2212");
}
