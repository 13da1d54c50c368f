-- phpMyAdmin SQL Dump
-- version 5.2.1
-- https://www.phpmyadmin.net/
--
-- Servidor: localhost
-- Tiempo de generación: 01-02-2024 a las 10:00:00

SET SQL_MODE = "NO_AUTO_VALUE_ON_ZERO";
START TRANSACTION;
SET time_zone = "+00:00";

--
-- Estructura de tabla para la tabla `y_url`
--

CREATE TABLE `y_url` (
  `keyword` varchar(200) NOT NULL,
  `url` text NOT NULL,
  `title` text DEFAULT NULL,
  `timestamp` timestamp NOT NULL DEFAULT current_timestamp(),
  `ip` varchar(41) NOT NULL,
  `clicks` int(10) UNSIGNED NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

--
-- Volcado de datos para la tabla `y_url`
--

INSERT INTO `y_url` (`keyword`, `url`, `title`, `timestamp`, `ip`, `clicks`) VALUES
('a-b.c', 'https://ejemplo.example/a', 'Uno', '2024-01-31 23:30:00', '127.0.0.1', 3),
('dir/seg', 'https://ejemplo.example/b', '', '2024-01-31 23:31:00', '127.0.0.1', 0);

COMMIT;
