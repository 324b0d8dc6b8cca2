"use strict";

// What is shown, and the data it is drawn from, which start() reads. The data are described in data.py.
let data;
let queries;
let runs;
const byId = (id) => document.getElementById(id);

async function readData() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  data = await new Response(stream).json();
  queries = split(data.queries);
  runs = split(data.runs);
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
